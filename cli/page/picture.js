// A picture of cells, as ranks by time or ranks by ranks: drawn once for each answer, whatever the
// number of ranks. Pointer and arrow keys ask for a cell, dragging and shift select some.

import { colour } from './colours.js';
import { el, say } from './dom.js';

/**
 * @typedef {object} Cells
 * @property {number} columns
 * @property {number} rows
 * @property {(column: number, row: number) => number | null} value 0 to 1; nothing is not known
 * @property {(column: number, row: number) => string} told about a cell
 * @property {(row: number) => string} rowName
 * @property {[string, string]} ends what stands below the first and the last column
 *
 * @typedef {{left: number, right: number, top: number, bottom: number}} Area cells, both included
 */

/** Pixels of a row. */
const [ROW_MIN, ROW_MAX] = [4, 26];
const HEIGHT_MAX = 560;
/** Rows with a name; more would stand over each other. */
const NAMED_MAX = 16;

export class Picture {
  /**
   * @param {string} label
   * @param {{square?: boolean, selected?: (area: Area) => void}} [options]
   */
  constructor(label, options = {}) {
    this.options = options;
    this.canvas = el('canvas', {
      tabindex: 0,
      role: 'img',
      'aria-label': label,
      pointermove: (event) => this.move(event),
      pointerdown: (event) => this.press(event),
      pointerup: () => this.release(),
      keydown: (event) => this.key(event),
    });
    this.told = el('p', { class: 'told', 'aria-live': 'polite' });
    this.rowNames = el('div', { class: 'rows', 'aria-hidden': 'true' });
    this.ends = [el('span'), el('span')];
    this.node = el(
      'div',
      { class: options.square ? 'picture square' : 'picture' },
      this.rowNames,
      this.canvas,
      el('div', { class: 'columns' }, ...this.ends),
      this.told,
    );
    /** @type {Cells | null} */
    this.cells = null;
    /** @type {{column: number, row: number} | null} */
    this.cursor = null;
    /** Where a selection began. @type {{column: number, row: number} | null} */
    this.anchor = null;
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /** @param {Cells} cells */
  show(cells) {
    this.cells = cells;
    if (this.cursor && (this.cursor.column >= cells.columns || this.cursor.row >= cells.rows)) {
      this.cursor = null;
    }
    this.name(cells);
    this.draw();
    this.tell();
  }

  /** Names the rows, as many as have room, and the ends. @param {Cells} cells */
  name({ rows, rowName, ends }) {
    const step = Math.ceil(rows / NAMED_MAX);
    const names = Array.from({ length: Math.ceil(rows / step) }, (_, at) => at * step);
    const texts = names.map(rowName);
    // The widest one makes the room, unseen.
    const widest = texts.reduce((max, text) => (text.length > max.length ? text : max), '');
    if (this.rowNames.dataset.text !== texts.join()) {
      this.rowNames.dataset.text = texts.join();
      this.rowNames.replaceChildren(
        el('b', {}, widest),
        ...names.map((row, at) => {
          const name = el('span', {}, texts[at]);
          name.style.top = `${(100 * (row + 0.5)) / rows}%`;
          return name;
        }),
      );
    }
    this.ends.forEach((end, at) => say(end, ends[at]));
  }

  draw() {
    const { cells, canvas } = this;
    const width = canvas.clientWidth;
    if (!cells || !width || !cells.columns || !cells.rows) return;
    const row = this.options.square
      ? width / cells.rows
      : Math.max(ROW_MIN, Math.min(ROW_MAX, HEIGHT_MAX / cells.rows));
    const height = Math.round(row * cells.rows);
    canvas.style.height = `${height}px`;
    const scale = window.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    const context = canvas.getContext('2d');
    if (!context) return;
    context.imageSmoothingEnabled = false;
    // One pixel a cell, made larger by the browser: its cost is that of the answer.
    const small = new OffscreenCanvas(cells.columns, cells.rows);
    const pixels = new ImageData(cells.columns, cells.rows);
    for (let row = 0; row < cells.rows; row += 1) {
      for (let column = 0; column < cells.columns; column += 1) {
        const value = cells.value(column, row);
        // What is not known is not drawn: the page is seen.
        if (value !== null) {
          pixels.data.set([...colour(value), 255], 4 * (row * cells.columns + column));
        }
      }
    }
    small.getContext('2d')?.putImageData(pixels, 0, 0);
    context.drawImage(small, 0, 0, canvas.width, canvas.height);
    this.outline(context);
  }

  /** @param {CanvasRenderingContext2D} context */
  outline(context) {
    const area = this.area();
    if (!area || !this.cells) return;
    const [x, y] = [this.canvas.width / this.cells.columns, this.canvas.height / this.cells.rows];
    const box = [
      area.left * x,
      area.top * y,
      (area.right - area.left + 1) * x,
      (area.bottom - area.top + 1) * y,
    ];
    // Two colours, so that it is seen on every cell.
    for (const [stroke, thick] of [
      ['#000', 4],
      ['#fff', 2],
    ]) {
      context.strokeStyle = `${stroke}`;
      context.lineWidth = Number(thick);
      context.strokeRect(box[0], box[1], box[2], box[3]);
    }
  }

  /** The cells between anchor and cursor. @returns {Area | null} */
  area() {
    const { cursor } = this;
    if (!cursor) return null;
    const other = this.anchor ?? cursor;
    return {
      left: Math.min(cursor.column, other.column),
      right: Math.max(cursor.column, other.column),
      top: Math.min(cursor.row, other.row),
      bottom: Math.max(cursor.row, other.row),
    };
  }

  tell() {
    const { cells, cursor } = this;
    say(this.told, cells && cursor ? cells.told(cursor.column, cursor.row) : '');
  }

  /** @param {PointerEvent} event */
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const part = (
      /** @type {number} */ offset,
      /** @type {number} */ size,
      /** @type {number} */ n,
    ) => Math.min(Math.max(Math.floor((offset / size) * n), 0), n - 1);
    const { columns, rows } = this.cells ?? { columns: 1, rows: 1 };
    return {
      column: part(event.clientX - box.left, box.width, columns),
      row: part(event.clientY - box.top, box.height, rows),
    };
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (!this.cells) return;
    this.cursor = this.at(event);
    this.draw();
    this.tell();
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (!this.options.selected || !this.cells) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.anchor = this.at(event);
    this.move(event);
  }

  release() {
    const area = this.area();
    if (this.anchor && area) this.options.selected?.(area);
    this.anchor = null;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    /** @type {Record<string, [number, number]>} */
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = steps[event.key];
    if (!this.cells) return;
    if (event.key === 'Enter' && this.options.selected) {
      this.anchor ??= this.cursor;
      return this.release();
    }
    if (!step) return;
    event.preventDefault();
    const from = this.cursor ?? { column: 0, row: 0 };
    if (event.shiftKey) this.anchor ??= from;
    else this.anchor = null;
    const limit = (/** @type {number} */ value, /** @type {number} */ n) =>
      Math.min(Math.max(value, 0), n - 1);
    this.cursor = {
      column: limit(from.column + step[0], this.cells.columns),
      row: limit(from.row + step[1], this.cells.rows),
    };
    this.draw();
    this.tell();
  }
}

/** The scale of colours with what its ends mean. */
export class Scale {
  constructor() {
    this.low = el('span');
    this.high = el('span');
    const canvas = el('canvas', { width: 64, height: 1, 'aria-hidden': 'true' });
    const pixels = new ImageData(64, 1);
    for (let at = 0; at < 64; at += 1) pixels.data.set([...colour(at / 63), 255], 4 * at);
    canvas.getContext('2d')?.putImageData(pixels, 0, 0);
    this.node = el('span', { class: 'scale' }, this.low, canvas, this.high);
  }

  /** @param {string} low @param {string} high */
  show(low, high) {
    say(this.low, low);
    say(this.high, high);
  }
}
