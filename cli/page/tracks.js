// A row of calls for each location, and lines for messages: zoomed and moved by pointer and keys.

import { point } from './calls.js';
import { el, say } from './dom.js';
import { drawAxis, drawFrame, drawInterval, drawMessages, drawRow } from './strokes.js';
import { duration } from './units.js';

/** @typedef {import('./calls').Calls} Calls */
/** @typedef {import('./calls').Place} Place */
/** @typedef {import('./strokes').Interval} Interval */

/** Pixels of a row, and of the axis above. */
const [ROW_MIN, ROW_MAX, AXIS] = [5, 28, 20];
const HEIGHT_MAX = 560;
/** Rows with a name; more would stand over each other. */
const NAMED_MAX = 32;
/** A drag of so many pixels is none. */
const CLICK_PIXELS = 3;
/** The shortest time that is shown, in ns. */
const VIEW_MIN = 20;
const ZOOM = 1.6;

export class Tracks {
  /** @param {{changed: () => void}} listener hears of another interval or selection */
  constructor({ changed }) {
    this.changed = changed;
    this.canvas = el('canvas', {
      tabindex: 0,
      role: 'img',
      'aria-label':
        'Calls of every rank over time. Comma and full stop go from call to call, up and down ' +
        'from rank to rank, plus and minus zoom, left and right move, M goes to the other end of ' +
        'a message, brackets measure, Home shows all.',
      pointermove: (event) => this.move(event),
      pointerdown: (event) => this.press(event),
      pointerup: (event) => this.release(event),
      pointerleave: () => this.hover(null),
      dblclick: () => this.all(),
      wheel: (event) => this.wheel(event),
      keydown: (event) => this.key(event),
    });
    this.names = el('div', { class: 'rows tracks', 'aria-hidden': 'true' });
    this.told = el('p', { class: 'told', 'aria-live': 'polite' });
    this.ruled = el('p', { class: 'ruled' });
    this.node = el('div', { class: 'picture' }, this.names, this.canvas, this.told, this.ruled);
    /** @type {Calls | null} */
    this.calls = null;
    /** @type {Interval} */
    this.view = { from: 0, to: 1 };
    /** @type {Place | null} */
    this.selected = null;
    /** @type {Place | null} */
    this.hovered = null;
    /** What the pointer draws, and what was measured. @type {Interval | null} */
    this.drag = null;
    /** @type {Interval | null} */
    this.ruler = null;
    /** Calls that were found, for each location. @type {Set<number>[] | null} */
    this.found = null;
    this.lines = 0;
    /** The regions that the pointer is at, where it is at no call. */
    this.inside = '';
    this.isDue = false;
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
  }

  /** @param {Calls} calls */
  show(calls) {
    this.calls = calls;
    [this.selected, this.hovered, this.ruler, this.found] = [null, null, null, null];
    const step = Math.ceil(calls.locations.length / NAMED_MAX);
    const rows = calls.locations.map((_, at) => at).filter((at) => at % step === 0);
    const texts = rows.map((at) => calls.rankName(at));
    const widest = texts.reduce((max, text) => (text.length > max.length ? text : max), '');
    this.names.replaceChildren(
      el('b', {}, widest),
      ...rows.map((row, at) => {
        const name = el('span', {}, texts[at]);
        name.style.top = `${AXIS + (row + 0.5) * this.row()}px`;
        return name;
      }),
    );
    this.all();
  }

  /** Everything that is there: a recorded window is a small part of the time that was asked for. */
  all() {
    if (!this.calls) return;
    const { locations, answer } = this.calls;
    const first = locations.reduce(
      (min, { begin_ns, visits, samples }) =>
        Math.min(min, begin_ns[0] ?? min, visits.begin_ns[0] ?? min, samples.at_ns[0] ?? min),
      Infinity,
    );
    const last = locations.reduce(
      (max, of) =>
        of.visits.end_ns.reduce(
          (end, visit) => Math.max(end, visit),
          Math.max(
            max,
            of.open ? answer.to_ns : (of.end_ns.at(-1) ?? max),
            of.samples.at_ns.at(-1) ?? max,
          ),
        ),
      -Infinity,
    );
    const from = Math.max(first, answer.from_ns);
    const isEmpty = !(Number.isFinite(from) && last > from);
    this.look(isEmpty ? { from: answer.from_ns, to: answer.to_ns } : { from, to: last });
  }

  /** @param {Interval} view */
  look({ from, to }) {
    const middle = (from + to) / 2;
    const half = Math.max(to - from, VIEW_MIN) / 2;
    this.view = { from: middle - half, to: middle + half };
    this.redraw();
    this.changed();
  }

  /** @param {number} factor @param {number} [around] */
  zoom(factor, around) {
    const { from, to } = this.view;
    const chosen = this.selected && this.times(this.selected);
    const at = around ?? (chosen ? (chosen.from + chosen.to) / 2 : (from + to) / 2);
    const inside = Math.min(Math.max(at, from), to);
    this.look({ from: inside - (inside - from) / factor, to: inside + (to - inside) / factor });
  }

  /** @param {number} share of what is shown */
  pan(share) {
    const by = (this.view.to - this.view.from) * share;
    this.look({ from: this.view.from + by, to: this.view.to + by });
  }

  /** @param {Place} place @returns {Interval} */
  times({ location, call }) {
    const of = /** @type {Calls} */ (this.calls).locations[location];
    return { from: of.begin_ns[call], to: of.end_ns[call] };
  }

  /** Selects a call, and moves until it is seen. @param {Place | null} place */
  select(place) {
    // Told is what was chosen last, wherever the pointer rests.
    [this.selected, this.hovered, this.inside] = [place, null, ''];
    if (place) {
      const { from, to } = this.times(place);
      const span = this.view.to - this.view.from;
      if (to < this.view.from || from > this.view.to) {
        const middle = (from + to) / 2;
        this.look({ from: middle - span / 2, to: middle + span / 2 });
      }
    }
    this.redraw();
    this.changed();
  }

  /** @param {Place[] | null} places */
  highlight(places) {
    this.found = places && /** @type {Calls} */ (this.calls).locations.map(() => new Set());
    for (const { location, call } of places ?? []) this.found?.[location].add(call);
    this.redraw();
  }

  row() {
    const rows = Math.max(this.calls?.locations.length ?? 1, 1);
    return Math.max(ROW_MIN, Math.min(ROW_MAX, HEIGHT_MAX / rows));
  }

  redraw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.draw();
    });
  }

  draw() {
    const { calls, canvas, view } = this;
    const width = canvas.clientWidth;
    if (!calls || !width) return;
    const row = this.row();
    const height = Math.round(AXIS + row * calls.locations.length);
    canvas.style.height = `${height}px`;
    const scale = window.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    const context = canvas.getContext('2d');
    if (!context) return;
    context.scale(scale, scale);
    const style = getComputedStyle(canvas);
    /** @type {import('./strokes').Pen} */
    const pen = {
      context,
      width,
      height,
      row,
      view,
      fore: style.color,
      dim: style.getPropertyValue('--dim'),
      line: style.getPropertyValue('--line'),
      x: (ns) => ((ns - view.from) / (view.to - view.from)) * width,
      y: (location) => AXIS + location * row,
    };
    drawAxis(pen);
    calls.locations.forEach((_, location) =>
      drawRow(pen, calls, location, this.found?.[location] ?? null),
    );
    const chosen = this.selected ? calls.messagesOf(this.selected) : [];
    this.lines = drawMessages(pen, calls, new Set(chosen));
    if (this.selected) drawFrame(pen, this.selected.location, this.times(this.selected));
    for (const interval of [this.ruler, this.drag]) if (interval) drawInterval(pen, interval);
    this.tell();
  }

  tell() {
    const { calls, hovered, inside, selected } = this;
    const place = hovered ?? (inside ? null : selected);
    say(this.told, calls && place ? calls.told(place) : inside);
    const { ruler } = this;
    const span = ruler && Math.abs(ruler.to - ruler.from);
    say(
      this.ruled,
      ruler && span !== null
        ? `measured: ${duration(span)} (${Math.round(span)} ns) from ` +
            `${point(Math.min(ruler.from, ruler.to))} to ${point(Math.max(ruler.from, ruler.to))}`
        : '',
    );
  }

  /** @param {Place | null} place @param {string} [inside] regions, where it is at no call */
  hover(place, inside = '') {
    [this.hovered, this.inside] = [place, inside];
    this.redraw();
  }

  /** The regions below the pointer, in words. @param {PointerEvent} event */
  regionsBelow(event) {
    const { calls } = this;
    const box = this.canvas.getBoundingClientRect();
    const location = Math.floor((event.clientY - box.top - AXIS) / this.row());
    if (!calls?.locations[location]) return '';
    const ns = this.time(event);
    return calls.sampledAt(location, ns) || calls.regionsAt(location, ns);
  }

  /** @param {MouseEvent} event */
  time(event) {
    const box = this.canvas.getBoundingClientRect();
    const { from, to } = this.view;
    return from + ((event.clientX - box.left) / box.width) * (to - from);
  }

  /** The call below the pointer. @param {MouseEvent} event @returns {Place | null} */
  below(event) {
    const { calls } = this;
    const box = this.canvas.getBoundingClientRect();
    const location = Math.floor((event.clientY - box.top - AXIS) / this.row());
    if (!calls?.locations[location]) return null;
    const pixel = (this.view.to - this.view.from) / box.width;
    const ns = this.time(event);
    return calls.at(location, ns - pixel, ns + pixel);
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (this.drag) {
      this.drag.to = this.time(event);
      if (event.shiftKey) this.ruler = { ...this.drag };
      this.redraw();
    } else if (event.movementX || event.movementY) {
      // Browsers also tell where a pointer rests when something moves below it.
      const place = this.below(event);
      this.hover(place, place ? '' : this.regionsBelow(event));
    }
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (!this.calls || event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    const ns = this.time(event);
    this.drag = { from: ns, to: ns };
  }

  /** A drag zooms, or measures with shift; a click selects. @param {PointerEvent} event */
  release(event) {
    const { drag } = this;
    this.drag = null;
    if (!drag || !this.calls) return;
    const pixels =
      (Math.abs(drag.to - drag.from) / (this.view.to - this.view.from)) * this.canvas.clientWidth;
    if (pixels < CLICK_PIXELS) {
      this.ruler = null;
      this.select(this.below(event));
    } else if (event.shiftKey) {
      this.ruler = drag;
      this.redraw();
    } else {
      this.look({ from: Math.min(drag.from, drag.to), to: Math.max(drag.from, drag.to) });
    }
  }

  /** With Ctrl as everywhere; without it the page scrolls. @param {WheelEvent} event */
  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM, this.time(event));
  }

  /** @param {number} by */
  step(by) {
    const { calls, selected, view } = this;
    if (!calls) return;
    if (!selected) {
      const first = calls.locations.findIndex(({ end_ns }) => end_ns.length);
      return this.select(first < 0 ? null : calls.near(first, view.from));
    }
    const call = selected.call + by;
    const { length } = calls.locations[selected.location].end_ns;
    if (call >= 0 && call < length) this.select({ ...selected, call });
  }

  /** @param {number} by */
  climb(by) {
    const { calls, selected } = this;
    if (!calls) return;
    if (!selected) return this.step(0);
    const { from, to } = this.times(selected);
    for (let at = selected.location + by; calls.locations[at]; at += by) {
      const place = calls.near(at, (from + to) / 2);
      if (place) return this.select(place);
    }
  }

  /** An end of the ruler at the selected call. @param {'from' | 'to'} end */
  rule(end) {
    if (!this.selected) return;
    const times = this.times(this.selected);
    this.ruler = { ...(this.ruler ?? times), [end]: times[end] };
    this.redraw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    /** @type {Record<string, () => void>} */
    const keys = {
      '+': () => this.zoom(ZOOM),
      '=': () => this.zoom(ZOOM),
      '-': () => this.zoom(1 / ZOOM),
      ArrowLeft: () => this.pan(-0.2),
      ArrowRight: () => this.pan(0.2),
      ArrowUp: () => this.climb(-1),
      ArrowDown: () => this.climb(1),
      Home: () => this.all(),
      ',': () => this.step(-1),
      '.': () => this.step(1),
      '[': () => this.rule('from'),
      ']': () => this.rule('to'),
      m: () => this.selected && this.select(this.calls?.otherEnd(this.selected) ?? this.selected),
    };
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }
}
