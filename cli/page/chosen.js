// The part of the run that was selected in the picture of ranks and time: tables are of it.

import { duration } from './units.js';

/** @typedef {import('./screen').Page} Page */

/** What to ask a table for. An observation has tables of all its time alone.
 * @param {Page} page */
export function chosenTime({ selection, hello }) {
  if (!selection || hello?.job?.observation) return {};
  return { from_ns: Math.round(selection.from_ns), to_ns: Math.round(selection.to_ns) };
}

/** What a table is of.
 * @param {Page} page
 * @param {import('./answers').TableInterval | null} interval */
export function ofTime({ selection, hello }, interval) {
  if (!selection || hello?.job?.observation) return 'since the start or the last reset';
  if (!interval) return 'nothing is kept of the selected time';
  const { from_ns, to_ns } = interval;
  return `of the selected time, from ${duration(from_ns)} to ${duration(to_ns)}`;
}
