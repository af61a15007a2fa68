// The bar that is always there: what the application, the recording and this page do (three
// things), how far behind it is, what was lost, and what we cost.

import { el, say } from './dom.js';
import { duration, share } from './units.js';

/** The overhead is that of the last seconds. */
const OVERHEAD_NS = 10e9;

/**
 * @typedef {object} State of this page
 * @property {'connecting' | 'live' | 'frozen' | 'away' | 'hidden' | 'ended' | 'out'} connection
 * @property {string} why
 */

export class Bar {
  /** @param {HTMLElement} node @param {() => void} clear takes the selection back */
  constructor(node, clear) {
    /** @type {Record<string, {node: HTMLElement, value: HTMLElement}>} */
    this.items = {};
    for (const name of [
      'application',
      'recording',
      'page',
      'ranks',
      'in MPI',
      'lag',
      'losses',
      'overhead',
      'scope',
    ]) {
      const value = el('b', { id: `bar-${name.replace(' ', '-')}` }, '-');
      this.items[name] = { node: el('span', {}, `${name} `, value), value };
      node.append(this.items[name].node);
    }
    this.chosen = el('button', { type: 'button', hidden: true, click: clear });
    node.append(this.chosen);
    /** @type {import('./answers').Snapshot[]} */
    this.samples = [];
  }

  /** @param {string} name @param {string} text @param {'' | 'good' | 'warn'} [kind]
   * @param {string} [title] */
  set(name, text, kind = '', title = '') {
    const { node, value } = this.items[name];
    say(value, text);
    if (node.className !== kind) node.className = kind;
    if (node.title !== title) node.title = title;
  }

  /** @param {State} state */
  page({ connection, why }) {
    const texts = {
      connecting: 'connecting',
      live: 'live',
      frozen: 'frozen (space)',
      hidden: 'hidden',
      away: 'no data: looking for the gateway',
      ended: 'ended: the last numbers',
      out: 'not let in',
    };
    const kind = connection === 'live' ? 'good' : 'warn';
    this.set('page', texts[connection], kind, why);
    if (connection === 'ended') this.set('application', 'ended, or observed no more', 'warn');
  }

  /** @param {import('./screen').Page} page */
  show({ hello, shown, selection }) {
    this.set('scope', hello?.scope ?? '-');
    this.chosen.hidden = !selection;
    if (selection) {
      say(
        this.chosen,
        `selected: ranks ${selection.first_rank} to ${selection.last_rank}, ` +
          `${duration(selection.from_ns)} to ${duration(selection.to_ns)} \u00d7`,
      );
    }
    if (!shown) return;
    const { snapshot, told } = shown;
    const { coverage } = snapshot;
    const observation = hello?.job?.observation;
    const state = observation
      ? `saved ${new Date(observation.saved_unix_ns / 1e6).toLocaleString()}`
      : told.pause
        ? `PAUSED, ${told.pause} left`
        : told.states;
    this.set('application', state, told.pause ? 'warn' : '');
    this.set('recording', told.recording, told.is_partly ? 'warn' : '');
    const [reporting, ranks] = [coverage?.ranks_reporting ?? 0, coverage?.ranks ?? 0];
    this.set('ranks', `${reporting} of ${ranks}`, reporting < ranks ? 'warn' : '', told.coverage);
    this.set(
      'in MPI',
      (told.in_mpi ?? '-').replace(' in MPI', ''),
      '',
      'since the start or the last reset',
    );
    this.set('lag', told.lag);
    this.set('losses', told.losses, told.losses === 'none' ? '' : 'warn');
    this.set('overhead', this.overhead(snapshot), '', told.own_cost);
  }

  /** Our time in ranks, and the processors that we take from them, of the ranks' time.
   * @param {import('./answers').Snapshot} now */
  overhead(now) {
    const ns = (/** @type {import('./answers').Snapshot} */ of) => of.status?.observed_ns ?? 0;
    const last = this.samples[this.samples.length - 1];
    if (last && ns(now) < ns(last)) this.samples = [];
    if (last?.sequence !== now.sequence) this.samples.push(now);
    while (this.samples[1] && ns(now) - ns(this.samples[1]) >= OVERHEAD_NS) this.samples.shift();
    const ours = (/** @type {import('./answers').Snapshot} */ of) =>
      (of.coverage?.overhead_ns ?? 0) + (of.coverage?.displaced_ns ?? 0);
    const whole = (ns(now) - ns(this.samples[0])) * (now.coverage?.ranks ?? 0);
    // Counts run back where a tool process is gone.
    const taken = ours(now) - ours(this.samples[0]);
    return taken < 0 ? '-' : share(taken, whole);
  }
}
