// What limits the job now, how efficient it is, and which ranks have most to do with it.

import { Curve } from './curve.js';
import { el, say, showNotes } from './dom.js';
import { Table } from './table.js';
import { count, duration, share } from './units.js';

/** @typedef {import('./answers').Efficiency} Efficiency */

/** How far back the curves go. */
const LAST_NS = 60e9;
const COLUMNS = 60;

/** @type {[string, keyof Efficiency][]} */
const EFFICIENCIES = [
  ['parallel efficiency', 'parallel_efficiency'],
  ['load balance', 'load_balance'],
  ['communication efficiency', 'communication_efficiency'],
];

/** @type {import('./screen').Screen} */
export const now = {
  id: 'now',
  title: 'Now',
  make(page) {
    const sentence = el('p', { class: 'sentence', 'aria-live': 'polite' });
    const interval = el('p', { class: 'dim' });
    const figures = EFFICIENCIES.map(([name, field]) => {
      const number = el('div', { class: 'number', id: field }, '-');
      const curve = new Curve(`${name} over the last minute, from 0 to 100 %`);
      return {
        field,
        number,
        curve,
        node: el('div', { class: 'figure' }, name, number, curve.node),
      };
    });
    const about = el('p', { class: 'dim' });
    const notes = el('pre');

    /** @type {Table<import('./answers').RankStatus>} */
    const ranks = new Table('Ranks, those that wait least first', [
      { head: 'rank', of: (row) => row.rank },
      { head: 'state', left: true, of: (row) => row.state },
      { head: 'function', left: true, of: (row) => row.function || '-' },
      { head: 'since', of: (row) => row.since_ns, show: duration },
      { head: 'calls', of: (row) => row.entered, show: count },
      { head: 'in MPI', of: (row) => row.mpi_ns, show: duration },
    ]);
    /** @type {Table<import('./answers').FunctionRow>} */
    const functions = new Table('Functions with the most time, since the start or the last reset', [
      { head: 'function', left: true, of: (row) => row.function },
      { head: 'calls', of: (row) => row.calls, show: count },
      { head: 'time', of: (row) => row.time_ns, show: duration },
      { head: 'share', of: (row) => row.time_ns, show: (ns) => share(ns, whole) },
    ]);
    let whole = 0;

    /** @param {import('./answers').GridReply} grid */
    function efficiencies(grid) {
      for (const { field, number, curve } of figures) {
        const value = grid.efficiency?.[field];
        say(number, value === undefined ? '-' : share(value, 1));
        number.dataset.value = `${value ?? ''}`;
        /** @type {(number | null)[]} */
        const values = Array(grid.columns).fill(null);
        for (const one of grid.efficiencies) values[one.column] = one.efficiency?.[field] ?? null;
        curve.show(values);
      }
      const of = grid.efficiency;
      say(
        about,
        of
          ? `over ${duration(grid.columns * grid.width_ns)}; rank ${of.max_rank} ` +
              `computes longest, rank ${of.min_rank} shortest`
          : 'nothing has been recorded yet',
      );
      showNotes(notes, grid);
    }

    return {
      node: el(
        'div',
        {},
        sentence,
        interval,
        el('div', { class: 'figures' }, ...figures.map((figure) => figure.node)),
        about,
        notes,
        ranks.node,
        functions.node,
      ),
      snapshot({ snapshot }) {
        ranks.show(snapshot.status?.named ?? []);
        whole = snapshot.functions.reduce((sum, row) => sum + row.time_ns, 0);
        functions.show(snapshot.functions.slice(0, 8));
      },
      async renew() {
        const last = page.hello?.job?.observation ? {} : { last_ns: LAST_NS };
        const [told, grid] = await Promise.all([
          page.ask('explain'),
          page.ask('efficiency', { columns: COLUMNS, ...last }),
        ]);
        /** @type {{sentence: string, interval_ns: number} | null} */
        const explanation = told.explanation;
        say(sentence, explanation ? `${explanation.sentence}.` : 'Looking at the job.');
        say(interval, explanation ? `seen over ${duration(explanation.interval_ns)}` : '');
        efficiencies(grid);
      },
    };
  },
};
