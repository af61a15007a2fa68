// Call paths as a flame graph: callers above what they call, as wide as their time. Pointer and
// keys ask for a function and go into it. What is drawn is bounded by the pixels.

import { APART } from './colours.js';
import { el, say } from './dom.js';
import { below, callers } from './paths.js';
import { duration, share } from './units.js';

/** @typedef {import('./paths').Path} Path */
/** @typedef {{path: Path, x: number, y: number, width: number}} Frame */

/** Pixels of a row, of its text, and around that. */
const [ROW, FONT, MARGIN] = [19, 12, 4];
/** What is narrower is not drawn, in pixels; nor is a name in less. */
const [WIDTH_MIN, NAME_MIN] = [0.5, 24];
/** What was not found. */
const FAINT = 0.25;

/** Each sort's name and colour: apart for all eyes, and black can be read on them.
 * @type {Record<import('./paths').Sort, [string, string]>} */
const SORTS = {
  program: ['program', APART[1]],
  mpi: ['MPI', APART[0]],
  library: ['libraries', APART[2]],
  kernel: ['kernel', APART[3]],
  other: ['all else', APART[7]],
};

/** The line with the most time, where lines are known. @param {Path} path */
const lineOf = ({ lines: [first] }) => (first && !first.text.startsWith('+') ? first.text : '');

/** A name in so many letters: where it is too long without scopes and parameters, then cut.
 * @param {string} name @param {number} letters */
function brief(name, letters) {
  if (name.length <= letters) return name;
  const last =
    name
      .replace(/[<(].*$/, '')
      .split('::')
      .at(-1) || name;
  return last.length <= letters ? last : `${last.slice(0, letters - 1)}\u2026`;
}

export class Flame {
  constructor() {
    this.canvas = el('canvas', {
      tabindex: 0,
      role: 'img',
      class: 'flame',
      'aria-label':
        'Call paths, callers above what they call. Down and up go to what is called and to the ' +
        'caller, left and right to the others beside it, Enter shows one and what it calls, ' +
        'Escape goes out, Home shows all.',
      pointermove: (event) => this.hover(this.pointed(event)),
      pointerleave: () => this.hover(null),
      click: (event) => this.zoom(this.pointed(event)),
      keydown: (event) => this.key(event),
    });
    this.told = el('p', { class: 'told', 'aria-live': 'polite' });
    this.legend = el('ul', { class: 'legend', 'aria-label': 'Where the functions are from' });
    this.node = el('div', {}, this.canvas, this.told, this.legend);
    /** The tree, and of it what has the whole width. @type {Path | null} */
    this.root = null;
    /** @type {Path | null} */
    this.shown = null;
    /** Where the keys are. @type {Path | null} */
    this.cursor = null;
    /** @type {Path | null} */
    this.hovered = null;
    /** @type {Set<Path> | null} */
    this.found = null;
    this.isDue = false;
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
  }

  /** @param {Path} root @param {(path: Path) => Path} again finds a path of the tree before */
  show(root, again) {
    const same = (/** @type {Path | null} */ path) => path && again(path);
    [this.root, this.found] = [root, null];
    this.shown = same(this.shown) ?? root;
    this.cursor = same(this.cursor);
    this.hovered = same(this.hovered);
    this.redraw();
  }

  /** @param {Path | null} path */
  zoom(path) {
    if (!path) return;
    [this.shown, this.cursor] = [path, path];
    this.redraw();
  }

  /** One caller further out. */
  out() {
    this.zoom(this.shown?.caller ?? this.root);
  }

  all() {
    this.zoom(this.root);
  }

  /** @param {Path} path */
  select(path) {
    [this.cursor, this.hovered] = [path, null];
    this.redraw();
  }

  /** @param {Path | null} path */
  hover(path) {
    if (this.hovered === path) return;
    this.hovered = path;
    this.redraw();
  }

  /** @param {Set<Path> | null} found all others become faint */
  highlight(found) {
    this.found = found;
    this.redraw();
  }

  redraw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.draw();
    });
  }

  /** What is wide enough to be seen. @param {Path} shown @param {number} width
   * @returns {Frame[]} */
  frames(shown, width) {
    const pixels = width / shown.ns;
    const above = callers(shown);
    /** @type {Frame[]} */
    const frames = above.map((path, at) => ({ path, x: 0, y: at * ROW, width }));
    const add = (/** @type {Path} */ path) => {
      for (const callee of path.callees) {
        const wide = callee.ns * pixels;
        if (wide < WIDTH_MIN) continue;
        const [x, y] = [(callee.from - shown.from) * pixels, callee.depth * ROW];
        frames.push({ path: callee, x, y, width: wide });
        add(callee);
      }
    };
    add(shown);
    return frames;
  }

  draw() {
    const { canvas, shown } = this;
    const width = canvas.clientWidth;
    if (!shown || !width) return;
    const frames = shown.ns > 0 ? this.frames(shown, width) : [];
    const height = frames.reduce((max, { y }) => Math.max(max, y + ROW), ROW);
    canvas.style.height = `${height}px`;
    const scale = window.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    const context = canvas.getContext('2d');
    if (!context) return;
    context.scale(scale, scale);
    context.font = `${FONT}px ui-monospace, monospace`;
    context.textBaseline = 'middle';
    // All letters are as wide as this one.
    const letter = context.measureText('m').width;
    const fore = getComputedStyle(canvas).color;
    for (const frame of frames) this.drawFrame(context, frame, letter, fore);
    for (const path of [this.cursor, this.hovered]) {
      const frame = path && frames.find((one) => one.path === path);
      if (frame) this.outline(context, frame);
    }
    Object.assign(canvas.dataset, { drawn: frames.length, shown: shown.name, ns: shown.ns });
    this.tell();
  }

  /** @param {CanvasRenderingContext2D} context @param {Frame} frame
   * @param {number} letter @param {string} fore */
  drawFrame(context, { path, x, y, width }, letter, fore) {
    const isFaint = Boolean(this.found && !this.found.has(path));
    context.globalAlpha = isFaint ? FAINT : 1;
    context.fillStyle = SORTS[path.sort][1];
    // A gap tells neighbours of one colour apart, where there is room for it.
    context.fillRect(x, y, width > 2 ? width - 1 : width, ROW - 1);
    context.globalAlpha = 1;
    if (width < NAME_MIN) return;
    const letters = Math.floor((width - 2 * MARGIN) / letter);
    context.fillStyle = isFaint ? fore : '#000';
    context.fillText(brief(path.name, letters), x + MARGIN, y + ROW / 2);
  }

  /** @param {CanvasRenderingContext2D} context @param {Frame} frame */
  outline(context, { x, y, width }) {
    // Two colours, so that it is seen on every other.
    for (const [stroke, thick] of /** @type {[string, number][]} */ ([
      ['#000', 4],
      ['#fff', 2],
    ])) {
      context.strokeStyle = stroke;
      context.lineWidth = thick;
      context.strokeRect(x + 1, y + 1, Math.max(width - 3, 1), ROW - 3);
    }
  }

  /** The function below the pointer. @param {MouseEvent} event @returns {Path | null} */
  pointed(event) {
    const { shown } = this;
    if (!shown) return null;
    const box = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / ROW);
    if (row <= shown.depth) return callers(shown)[row] ?? null;
    const ns = shown.from + ((event.clientX - box.left) / box.width) * shown.ns;
    /** @type {Path | undefined} */
    let path = shown;
    while (path && path.depth < row) {
      path = path.callees.find((callee) => callee.from <= ns && ns < callee.from + callee.ns);
    }
    return path ?? null;
  }

  tell() {
    // Nothing by itself: it is read aloud, and all time grows with each answer.
    const path = this.hovered ?? this.cursor;
    say(this.told, path ? this.words(path) : '');
    this.told.dataset.value = path ? `${path.ns} ${path.own_ns}` : '';
    this.drawLegend();
  }

  /** @param {Path} path */
  words(path) {
    const { root, shown } = this;
    if (!path.caller) return `all: ${duration(path.ns)} on a processor`;
    const line = lineOf(path);
    const parts = [
      `${path.name}${path.module && path.module !== path.name ? ` in ${path.module}` : ''}` +
        `${line ? `, ${line}` : ''}: ${duration(path.ns)}, ${share(path.ns, root?.ns ?? 0)}`,
      shown && shown !== root ? `${share(path.ns, shown.ns)} of ${shown.name}` : '',
      `own ${duration(path.own_ns)}`,
      path.most_ns ? `most on rank ${path.most_rank} (${duration(path.most_ns)})` : '',
    ];
    return parts.filter((part) => part).join('; ');
  }

  /** The colours, with the time of each sort in what is shown. */
  drawLegend() {
    if (!this.shown) return;
    /** @type {Map<string, number>} */
    const own = new Map();
    for (const { sort, own_ns } of below(this.shown)) own.set(sort, (own.get(sort) ?? 0) + own_ns);
    const items = Object.entries(SORTS).map(([sort, [name, colour]]) => ({
      text: `${name} ${share(own.get(sort) ?? 0, this.shown?.ns ?? 0)}`,
      colour,
    }));
    const text = items.map((item) => item.text).join();
    if (this.legend.dataset.text === text) return;
    this.legend.dataset.text = text;
    this.legend.replaceChildren(
      ...items.map((item) => {
        const swatch = el('i');
        swatch.style.background = item.colour;
        return el('li', {}, swatch, item.text);
      }),
    );
  }

  /** To the next one beside it that is wide enough to be seen. @param {number} by */
  step(by) {
    const { cursor, shown } = this;
    if (!cursor?.caller || !shown) return;
    const least = (WIDTH_MIN * shown.ns) / (this.canvas.clientWidth || 1);
    const beside = cursor.caller.callees.filter((one) => one === cursor || one.ns >= least);
    this.select(beside[beside.indexOf(cursor) + by] ?? cursor);
  }

  /** Into what has the most time of all that it calls. */
  descend() {
    const from = this.cursor ?? this.shown;
    const most = from?.callees.reduce(
      (most, one) => (one.ns > most.ns ? one : most),
      from.callees[0],
    );
    if (most) this.select(most);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => this.descend(),
      ArrowUp: () => this.cursor?.caller && this.select(this.cursor.caller),
      ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1),
      Enter: () => this.zoom(this.cursor),
      Escape: () => this.out(),
      Home: () => this.all(),
    };
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }
}
