// The MPI function table: of all ranks, by rank, or by where in the program calls are made.

import { chosenTime, ofTime } from './chosen.js';
import { place } from './code.js';
import { histogram } from './histogram.js';
import { choice, el, say, showNotes } from './dom.js';
import { Table } from './table.js';
import { count, counted, duration, share, size } from './units.js';

/** @typedef {import('./answers').FunctionRow} FunctionRow */
/** @typedef {import('./answers').CallSiteRow} CallSiteRow */

const WAYS = /** @type {[string, string][]} */ ([
  ['all', 'all ranks together'],
  ['rank', 'by rank'],
  ['site', 'by call site'],
]);

/** Rows of the answer; the table says how many there are beyond. */
const ROWS_MAX = 4096;

/** A duration that is not known of every row. @param {number} ns */
const ifKnown = (ns) => (ns < 0 ? '-' : duration(ns));

/** @type {import('./screen').Screen} */
export const functions = {
  id: 'functions',
  title: 'Functions',
  make(page) {
    let way = 'all';
    let whole = 0;

    /** Columns that all tables have. @template Row @param {(row: Row) => FunctionRow} of
     * @returns {import('./table').Column<Row>[]} */
    const numbers = (of) => [
      { head: 'calls', of: (row) => of(row).calls, show: count },
      { head: 'time', of: (row) => of(row).time_ns, show: duration },
      { head: 'share', of: (row) => of(row).time_ns, show: (ns) => share(ns, whole) },
      { head: 'mean', of: (row) => of(row).mean_ns, show: duration },
      { head: 'sigma', of: (row) => of(row).stddev_ns, show: duration },
      { head: 'min', of: (row) => of(row).min_ns, show: duration },
      { head: 'max', of: (row) => of(row).max_ns, show: duration },
      { head: 'of rank', of: (row) => of(row).max_rank },
      { head: 'sent', of: (row) => of(row).bytes_out, show: size },
      { head: 'received', of: (row) => of(row).bytes_in, show: size },
    ];
    /** The same with quantiles, which are not kept by rank. @template Row
     * @param {(row: Row) => FunctionRow} of @returns {import('./table').Column<Row>[]} */
    const distributed = (of) => {
      const columns = numbers(of);
      columns.splice(
        columns.findIndex(({ head }) => head === 'sigma'),
        0,
        { head: 'median', of: (row) => of(row).durations?.p50 ?? -1, show: ifKnown },
        { head: 'p99', of: (row) => of(row).durations?.p99 ?? -1, show: ifKnown },
      );
      return columns;
    };
    const itself = (/** @type {FunctionRow} */ row) => row;
    /** @type {Table<FunctionRow>} */
    const all = new Table('Functions', [
      { head: 'function', left: true, of: (row) => row.function },
      ...distributed(itself),
    ]);
    /** @type {Table<FunctionRow>} */
    const byRank = new Table('Functions by rank', [
      { head: 'rank', of: (row) => row.rank ?? -1 },
      { head: 'function', left: true, of: (row) => row.function },
      ...numbers(itself),
    ]);
    /** @type {Table<CallSiteRow & {calls: FunctionRow}>} */
    const bySite = new Table('Call sites', [
      { head: 'called from', left: true, of: place },
      { head: 'function', left: true, of: (row) => row.calls.function },
      { head: 'ranks', of: (row) => row.ranks },
      ...distributed((/** @type {CallSiteRow & {calls: FunctionRow}} */ row) => row.calls),
    ]);

    const tables = el('div', {}, all.node);
    let drawn = '';
    const bars = histogram();
    const none = el('p', { class: 'dim' });
    const drawing = choice('Histogram of', [['', 'no function']], (value) => {
      drawn = value;
      page.renew();
    });
    const limits = el('p', { class: 'dim' });
    const notes = el('pre');
    const ways = choice('Functions of', WAYS, (value) => {
      way = value;
      const made = { all: all.node, rank: byRank.node, site: bySite.node }[value];
      if (made) tables.replaceChildren(made);
      drawing.node.hidden = bars.node.hidden = none.hidden = value === 'site';
      page.renew();
    });

    /** Functions that are not called any more stay. @param {FunctionRow[]} rows */
    function offer(rows) {
      const known = new Set([...drawing.select.options].map((option) => option.value));
      for (const { function: name } of rows) {
        if (!known.has(name)) drawing.select.append(el('option', { value: name }, name));
      }
    }

    async function sites() {
      /** @type {import('./answers').CallSitesReply} */
      const reply = await page.ask('sites', chosenTime(page));
      const rows = reply.rows.flatMap((row) => (row.calls ? [{ ...row, calls: row.calls }] : []));
      const left = reply.left_out?.time_ns ?? 0;
      whole = rows.reduce((sum, row) => sum + row.calls.time_ns, left);
      bySite.show(
        rows,
        reply.rows_left_out > 0
          ? `${counted(reply.rows_left_out, 'row')} with less time: ${duration(left)}`
          : '',
      );
      const unnamed =
        reply.rows_unnamed > 0
          ? `names of ${counted(reply.rows_unnamed, 'row')} have not come yet`
          : '';
      const parts = [ofTime(page, reply.interval), unnamed];
      say(limits, parts.filter((part) => part).join('; '));
      showNotes(notes, reply);
    }

    async function table() {
      const byRanks = way === 'rank';
      const ranked = byRanks ? { per_rank: true, rows: ROWS_MAX } : {};
      const words = drawn ? { ...ranked, histogram: drawn } : ranked;
      /** @type {import('./answers').FunctionsReply & {histogram?: import('./histogram').Drawn}} */
      const reply = await page.ask('functions', { ...words, ...chosenTime(page) });
      offer(reply.rows);
      bars.show(reply.histogram ?? null);
      const row = reply.rows.find(({ function: name }) => name === drawn);
      const told = row?.calls
        ? row.durations
          ? ''
          : `nothing is known of how long calls of ${drawn} took`
        : `no call of ${drawn} has ended`;
      say(none, drawn ? told : '');
      whole = reply.rows.reduce((sum, row) => sum + row.time_ns, 0);
      all.show(reply.rows);
      const { selection } = page;
      const isMeant = (/** @type {FunctionRow} */ { rank }) =>
        !selection ||
        (rank !== null && selection.first_rank <= rank && rank <= selection.last_rank);
      const rows = reply.rank_rows.filter(isMeant);
      const left = reply.rank_rows_total - reply.rank_rows.length;
      byRank.show(rows, left > 0 ? `${counted(left, 'row')} with less time` : '');
      const ranks =
        byRanks && selection
          ? `only the selected ranks ${selection.first_rank} to ${selection.last_rank}`
          : '';
      const parts = [ofTime(page, reply.interval), ranks];
      say(limits, parts.filter((part) => part).join('; '));
      showNotes(notes, reply);
    }

    return {
      node: el(
        'div',
        {},
        el('div', { class: 'controls' }, ways.node, ' ', drawing.node),
        limits,
        none,
        bars.node,
        tables,
        notes,
      ),
      renew: () => (way === 'site' ? sites() : table()),
    };
  },
};
