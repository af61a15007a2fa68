// What the numbers of a grid's cells are, and how they are shown: what is added up by the second,
// times as a share, and what is at each time as it is.

import { count, duration, share, size } from './units.js';

/** @typedef {import('./answers').GridReply} Grid */
/** @typedef {import('./answers').GridCell} Cell */

/** Metrics of recorded calls; all others are measured. */
export const OF_CALLS = /** @type {[string, string][]} */ ([
  ['mpi', 'time in MPI'],
  ['compute', 'computing'],
  ['waiting', 'waiting for others'],
  ['calls', 'calls'],
  ['bytes', 'bytes sent'],
]);

/** @param {Grid} grid */
const isShare = (grid) => grid.unit === 'ns' && !grid.absolute;

/** @param {Grid} grid */
const isMeasured = (grid) => OF_CALLS.every(([name]) => name !== grid.metric);

/** The mean of a rank over the time that is known; nothing where none is.
 * @param {Cell | null} cell @param {Grid} grid */
export function mean(cell, grid) {
  if (!cell || cell.recorded_ns <= 0) return null;
  if (grid.absolute) return cell.sum / Math.max(cell.ranks, 1);
  return cell.sum / (isShare(grid) ? 1 : 1e-9) / cell.recorded_ns;
}

/** The same of one rank of a cell. @param {Cell} cell @param {number} value @param {Grid} grid */
export function ofRank(cell, value, grid) {
  if (grid.absolute) return value;
  return (value * Math.max(cell.ranks, 1)) / (isShare(grid) ? 1 : 1e-9) / cell.recorded_ns;
}

/** @param {number} value @param {Grid} grid */
export function shown(value, grid) {
  if (isShare(grid)) return share(value, 1);
  const isFew = value < 9.995 && !Number.isInteger(value);
  const number =
    grid.unit === 'ns'
      ? duration(value)
      : grid.unit === 'bytes'
        ? size(value)
        : isFew
          ? value.toFixed(2)
          : count(value);
  return grid.absolute ? number : `${number}/s`;
}

/** The value at the end of the scale: of recorded time the whole, of others the most.
 * @param {Grid} grid */
export function full(grid) {
  const cells = grid.rows.flatMap((row) => row.cells);
  const most = Math.max(0, ...cells.map((cell) => mean(cell, grid) ?? 0));
  return most === 0 || (isShare(grid) && !isMeasured(grid)) ? 1 : most;
}

/** What is said of cells of which nothing is known. @param {Grid} grid */
export const notKnown = (grid) => (isMeasured(grid) ? 'not measured' : 'not recorded');

/** Adds a choice for each metric that has values. What was there stays, and where it is.
 * @param {HTMLSelectElement} select @param {import('./answers').MetricsReply} reply */
export function offer(select, reply) {
  const there = [...select.options].map(({ value }) => value);
  for (const { name, ranks_kept } of reply.metrics) {
    if (ranks_kept > 0 && !there.includes(name)) select.append(new Option(name, name));
  }
}

/** Whether a job can be asked for metrics: older ones cannot, and what was saved has none.
 * @param {import('./screen').Page} page */
export function hasMetrics({ hello }) {
  return Boolean(hello?.capabilities.includes('metrics') && !hello.job?.observation);
}
