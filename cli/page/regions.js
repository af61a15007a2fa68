// Time by region of the program: the stretches that it marks, and its instrumented functions.

import { chosenTime, ofTime } from './chosen.js';
import { code } from './code.js';
import { el, say, showNotes } from './dom.js';
import { Table } from './table.js';
import { count, counted, duration, share } from './units.js';

/** @typedef {import('./answers').RegionRow} RegionRow */

/** What a row is about. @param {RegionRow} row */
function name(row) {
  if (row.kind === 'marked') return `"${row.name}"`;
  if (row.kind === 'code') return code(row);
  return row.kind === 'nowhere' ? 'code in no file' : 'other regions';
}

/** Behind the name of a region that is not recorded now: on which part of its ranks.
 * @param {RegionRow} row */
function off(row) {
  if (row.off_ranks === 0) return '';
  return row.off_ranks >= row.ranks
    ? ' (off)'
    : ` (off on ${row.off_ranks} of ${counted(row.ranks, 'rank')})`;
}

/** @type {import('./screen').Screen} */
export const regions = {
  id: 'regions',
  title: 'Regions',
  make(page) {
    let whole = 0;
    /** @type {Table<RegionRow>} */
    const table = new Table('Regions of the program', [
      { head: 'region', left: true, of: (row) => `${name(row)}${off(row)}` },
      { head: 'visits', of: (row) => row.visits, show: count },
      { head: 'time', of: (row) => row.time_ns, show: duration },
      { head: 'own', of: (row) => row.own_ns, show: duration },
      { head: 'share', of: (row) => row.own_ns, show: (ns) => share(ns, whole) },
      {
        head: 'in MPI',
        of: (row) => row.mpi_ns / Math.max(row.time_ns, 1),
        show: (_, row) => share(row.mpi_ns, row.time_ns),
      },
      {
        head: 'mean per rank',
        of: (row) => row.time_ns / Math.max(row.ranks, 1),
        show: duration,
      },
      { head: 'max', of: (row) => row.max_ns, show: duration },
      { head: 'of rank', of: (row) => row.max_rank },
      { head: 'ranks', of: (row) => row.ranks },
    ]);
    // Nothing says more than a table without rows.
    table.node.hidden = true;
    const nothing = el('p');
    const limits = el('p', { class: 'dim' });
    const notes = el('pre');

    async function renew() {
      /** @type {import('./answers').RegionsReply & {text?: string}} */
      const reply = await page.ask('regions', chosenTime(page));
      const left = reply.left_out;
      whole = reply.rows.reduce((sum, row) => sum + row.own_ns, left?.own_ns ?? 0);
      table.show(
        reply.rows,
        reply.rows_left_out > 0
          ? `${counted(reply.rows_left_out, 'row')} more: ${counted(left?.visits ?? 0, 'visit')}, ` +
              `own time ${duration(left?.own_ns ?? 0)}`
          : '',
      );
      table.node.hidden = reply.rows.length === 0;
      say(nothing, reply.text ?? '');
      const names =
        reply.rows_unnamed > 0
          ? `names of ${counted(reply.rows_unnamed, 'row')} have not come yet`
          : '';
      const parts = [ofTime(page, reply.interval), names];
      say(limits, parts.filter((part) => part).join('; '));
      showNotes(notes, reply);
    }

    return { node: el('div', {}, nothing, limits, table.node, notes), renew };
  },
};
