// A table that is sorted by a click on a column, and whose rows stay while their numbers change.

import { el, say } from './dom.js';
import { counted } from './units.js';

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} head
 * @property {(row: Row) => string | number} of the value, by which it is sorted
 * @property {(value: any, row: Row) => string} [show] how it is shown
 * @property {boolean} [left] text, and not a number
 * @property {(row: Row) => number} [bar] how much of the cell a bar fills, 0 to 1
 */

/** As many as are read; more cost time at each update. */
const ROWS_MAX = 300;

/** @template Row */
export class Table {
  /** @param {string} caption @param {Column<Row>[]} columns */
  constructor(caption, columns) {
    this.columns = columns;
    /** @type {Row[]} */
    this.rows = [];
    /** Column and direction; none keeps the order of the answer.
     * @type {{column: number, down: boolean} | null} */
    this.sorted = null;
    this.heads = columns.map((column, at) =>
      el(
        'th',
        { scope: 'col', class: column.left ? 'left' : '' },
        el('button', { type: 'button', click: () => this.sort(at) }, column.head),
      ),
    );
    this.body = el('tbody');
    this.rest = el('p', { class: 'dim' });
    const table = el(
      'table',
      {},
      el('caption', {}, caption),
      el('thead', {}, el('tr', {}, ...this.heads)),
      this.body,
    );
    this.node = el(
      'div',
      {},
      el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': caption }, table),
      this.rest,
    );
  }

  /** @param {number} column */
  sort(column) {
    const down = this.sorted?.column === column ? !this.sorted.down : !this.columns[column].left;
    this.sorted = { column, down };
    this.heads.forEach((head, at) => {
      if (at === column) head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
    this.draw();
  }

  /** @param {Row[]} rows @param {string} [rest] what is said of rows that are not there */
  show(rows, rest = '') {
    this.rows = rows;
    this.told = rest;
    this.draw();
  }

  draw() {
    const rows = [...this.rows];
    if (this.sorted) {
      const { of } = this.columns[this.sorted.column];
      const sign = this.sorted.down ? -1 : 1;
      rows.sort((one, other) => {
        const [a, b] = [of(one), of(other)];
        return (
          sign *
          (typeof a === 'number' && typeof b === 'number' ? a - b : `${a}`.localeCompare(`${b}`))
        );
      });
    }
    const shown = rows.slice(0, ROWS_MAX);
    while (this.body.rows.length > shown.length) this.body.deleteRow(-1);
    shown.forEach((row, at) => this.drawRow(row, this.body.rows[at] ?? this.body.insertRow()));
    const more = rows.length - shown.length;
    say(
      this.rest,
      [more > 0 ? `... and ${counted(more, 'row')} more` : '', this.told ?? '']
        .filter((text) => text)
        .join('; '),
    );
  }

  /** @param {Row} row @param {HTMLTableRowElement} line */
  drawRow(row, line) {
    this.columns.forEach((column, at) => {
      const cell = line.cells[at] ?? line.insertCell();
      const value = column.of(row);
      if (column.left) cell.className = 'left';
      if (column.bar) {
        cell.className = 'bar';
        cell.style.setProperty('--share', `${column.bar(row)}`);
      }
      // The number itself stands beside the one that is shown.
      cell.dataset.value = `${value}`;
      const text = column.show ? column.show(value, row) : `${value}`;
      if (column.left && cell.title !== text) cell.title = text;
      say(cell, text);
    });
  }
}
