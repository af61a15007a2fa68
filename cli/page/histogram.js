// How the durations of a function's calls are distributed, and the bytes that they move.

import { el } from './dom.js';
import { Table } from './table.js';
import { count, duration, share, size } from './units.js';

/** Values that are drawn as one bar.
 * @typedef {{from: number, below: number, count: number}} Stretch */
/** @typedef {{durations: Stretch[], sizes: Stretch[]}} Drawn */

/** @param {string} caption @param {(value: number) => string} unit */
function table(caption, unit) {
  const whole = { count: 0, largest: 0 };
  /** @type {Table<Stretch>} */
  const bars = new Table(caption, [
    { head: 'from', of: (row) => row.from, show: unit },
    { head: 'below', of: (row) => row.below, show: unit },
    {
      head: 'count',
      of: (row) => row.count,
      show: count,
      bar: (row) => (whole.largest > 0 ? row.count / whole.largest : 0),
    },
    { head: 'share', of: (row) => row.count, show: (values) => share(values, whole.count) },
  ]);
  return {
    node: bars.node,
    /** @param {Stretch[]} rows */
    show(rows) {
      whole.count = rows.reduce((sum, row) => sum + row.count, 0);
      whole.largest = Math.max(0, ...rows.map((row) => row.count));
      bars.node.hidden = rows.length === 0;
      bars.show(rows);
    },
  };
}

/** Both tables, none of them there before it is shown. */
export function histogram() {
  const [durations, sizes] = [
    table('Durations, of all ranks', duration),
    table('Sizes, of all ranks', size),
  ];
  durations.node.hidden = sizes.node.hidden = true;
  return {
    node: el('div', {}, durations.node, sizes.node),
    /** @param {Drawn | null} drawn */
    show(drawn) {
      durations.show(drawn?.durations ?? []);
      sizes.show(drawn?.sizes ?? []);
    },
  };
}
