// Who waits for whom: by wait state, by where in the program, by rank with who made others wait, and
// by communicator.

import { chosenTime, ofTime } from './chosen.js';
import { place } from './code.js';
import { el, say, showNotes } from './dom.js';
import { Table } from './table.js';
import { count, counted, duration, share } from './units.js';

/** @typedef {import('./answers').WaitStateRow} WaitStateRow */
/** @typedef {import('./answers').RankWaits} RankWaits */
/** @typedef {import('./answers').CallSiteRow} CallSiteRow */
/** @typedef {import('./answers').SiteWaitRow} SiteWaitRow */
/** @typedef {SiteWaitRow & {site: CallSiteRow, function: string}} WaitAt */

/** Ranks that waited longest, and as many that made others wait. */
const RANKS_MAX = 256;

/** @param {string} text */
const sentenceOf = (text) => text[0].toUpperCase() + text.slice(1);

/** @type {import('./screen').Screen} */
export const waits = {
  id: 'waits',
  title: 'Wait states',
  make(page) {
    let whole = 0;
    const sentence = el('p', { class: 'sentence' });
    const rest = el('p', { class: 'dim' });
    const notes = el('pre');
    /** @type {import('./table').Column<WaitStateRow>[]} */
    const columns = [
      { head: 'wait state', left: true, of: (row) => row.wait_state },
      { head: 'in', left: true, of: (row) => row.function },
      { head: 'time', of: (row) => row.time_ns, show: duration },
      {
        head: 'share',
        of: (row) => row.time_ns,
        show: (ns) => (ns > whole ? '-' : share(ns, whole)),
      },
      { head: 'waits', of: (row) => row.waits, show: count },
      { head: 'max', of: (row) => row.max_ns, show: duration },
      { head: 'of rank', of: (row) => row.max_rank },
    ];
    /** @type {Table<WaitStateRow>} */
    const states = new Table('By wait state', columns);
    const causer = (/** @type {WaitAt} */ { causers: [first], time_ns }) =>
      first ? `rank ${first.rank} (${share(first.time_ns, time_ns)})` : '';
    /** @type {Table<WaitAt>} */
    const sites = new Table('By call site, and for whom', [
      { head: 'called from', left: true, of: (row) => place(row.site) },
      .../** @type {import('./table').Column<any>[]} */ (columns.slice(0, 4)),
      { head: 'mostly for', left: true, of: causer },
      .../** @type {import('./table').Column<any>[]} */ (columns.slice(4)),
    ]);
    /** @type {Table<WaitStateRow & {communicator: string}>} */
    const communicators = new Table('By communicator', [
      { head: 'communicator', left: true, of: (row) => row.communicator },
      .../** @type {import('./table').Column<any>[]} */ (
        columns.filter(({ head }) => head !== 'in')
      ),
    ]);
    const most = (/** @type {RankWaits} */ of, /** @type {'time_ns' | 'caused_ns'} */ field) => {
      const row = of.rows.reduce(
        (max, row) => (!row.part_of && row[field] > (max?.[field] ?? 0) ? row : max),
        /** @type {import('./answers').RankWaitRow | null} */ (null),
      );
      return row ? `${row.wait_state} in ${row.function}` : '-';
    };
    /** @type {Table<RankWaits>} */
    const ranks = new Table('By rank: who waited, and who made others wait', [
      { head: 'rank', of: (row) => row.rank },
      { head: 'waited', of: (row) => row.waited_ns, show: duration },
      { head: 'made others wait', of: (row) => row.caused_ns, show: duration },
      { head: 'waited most as', left: true, of: (row) => most(row, 'time_ns') },
      { head: 'made others wait most as', left: true, of: (row) => most(row, 'caused_ns') },
    ]);

    /** @param {import('./answers').CallSitesReply} reply */
    function drawSites(reply) {
      const rows = reply.rows.flatMap((site) =>
        site.waits.map((waits) => ({ ...waits, site, function: site.calls?.function ?? '' })),
      );
      rows.sort((a, b) => b.time_ns - a.time_ns);
      const left = reply.waits_left_out?.time_ns ?? 0;
      const parts = [
        left > 0 ? `${duration(left)} in further rows` : '',
        reply.rows_unnamed > 0
          ? `names of ${counted(reply.rows_unnamed, 'site')} have not come yet`
          : '',
      ];
      sites.show(rows, parts.filter((part) => part).join('; '));
    }

    /** @param {import('./answers').WaitStatesReply & {text?: string}} reply */
    function draw(reply) {
      const met = reply.calls?.met ?? 0;
      say(
        sentence,
        reply.text
          ? `${sentenceOf(reply.text)}.`
          : `Nobody has waited for anybody yet: ${counted(met, 'call')} of collectives met.`,
      );
      // What is a part of another wait state is in that one.
      whole = reply.rows.reduce((sum, row) => sum + (row.part_of ? 0 : row.time_ns), 0);
      states.show(reply.rows);
      const { selection } = page;
      const meant = reply.ranks.filter(
        ({ rank }) => !selection || (selection.first_rank <= rank && rank <= selection.last_rank),
      );
      const left = reply.ranks_total - reply.ranks.length;
      ranks.show(meant, left > 0 ? `${counted(left, 'rank')} with less` : '');
      communicators.show(
        reply.communicators.flatMap(({ communicator, rows }) =>
          rows.map((row) => ({ ...row, communicator })),
        ),
      );
      const parts = [
        ofTime(page, reply.interval),
        selection ? `ranks: the selected ${selection.first_rank} to ${selection.last_rank}` : '',
        reply.unblamed_ns
          ? `without ${duration(reply.unblamed_ns)} whose causer could not be told`
          : '',
        reply.clock_error_ns
          ? `between nodes the clocks are known to ${duration(reply.clock_error_ns)}`
          : '',
      ];
      say(rest, parts.filter((part) => part).join('; '));
      showNotes(notes, reply);
    }

    return {
      node: el(
        'div',
        {},
        sentence,
        states.node,
        sites.node,
        ranks.node,
        communicators.node,
        rest,
        notes,
      ),
      async renew() {
        draw(await page.ask('waitstates', { ranks: RANKS_MAX, ...chosenTime(page) }));
        // An observation keeps no call sites.
        sites.node.hidden = Boolean(page.hello?.job?.observation);
        if (!sites.node.hidden) drawSites(await page.ask('sites', chosenTime(page)));
      },
    };
  },
};
