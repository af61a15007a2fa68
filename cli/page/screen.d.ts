// What a screen is, and what it may use. Types alone.

import type { Shown, Words } from './server';
import type { HelloReply } from './answers';

/** A part of the run, chosen in the picture of ranks and time; ends are included. */
export interface Selection {
  from_ns: number;
  to_ns: number;
  first_rank: number;
  last_rank: number;
}

export interface Page {
  hello: HelloReply | null;
  /** The newest snapshot, and the one before. */
  shown: Shown | null;
  before: Shown | null;
  selection: Selection | null;
  ask(question: string, words?: Words): Promise<any>;
  give(order: string, words?: Words): Promise<void>;
  select(selection: Selection | null): void;
  /** Asks anew now: the reader has chosen something else. */
  renew(): void;
}

export interface Screen {
  id: string;
  title: string;
  make(page: Page): Made;
}

export interface Made {
  node: HTMLElement;
  /** When the reader goes to it. */
  shown?(): void;
  /** With each snapshot; costs nothing. */
  snapshot?(shown: Shown): void;
  /** Asks what it shows, and shows it; at most once a second, unless the reader wants it. */
  renew?(isWanted: boolean): Promise<void>;
}
