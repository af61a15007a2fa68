// What the event buffers hold, and what they have given up.

import { el, say } from './dom.js';
import { Table } from './table.js';
import { count, counted, duration, share, size } from './units.js';

/** @typedef {import('./answers').LocationBuffer} LocationBuffer */

/** @param {import('./answers').Location | null} location */
function where(location) {
  if (!location) return '-';
  return location.thread
    ? `rank ${location.rank}, thread ${location.thread}`
    : `rank ${location.rank}`;
}

/** @type {import('./screen').Screen} */
export const buffers = {
  id: 'buffers',
  title: 'Buffers',
  make(page) {
    const facts = el('dl');
    const coverage = el('pre');
    /** @type {Table<import('./answers').BufferLevel>} */
    const levels = new Table('Levels of detail, those that are given up first come first', [
      { head: 'holds', left: true, of: (row) => row.holds },
      { head: 'kept', of: (row) => row.kept, show: count },
      { head: 'given up', of: (row) => row.given_up, show: count },
      { head: 'bins', of: (row) => row.bins, show: count },
      { head: 'closed in', of: (row) => row.closed, show: (n) => (n ? counted(n, 'buffer') : '-') },
    ]);
    /** @type {Table<LocationBuffer>} */
    const named = new Table('Buffers, the fullest first', [
      { head: 'location', left: true, of: (row) => where(row.location) },
      {
        head: 'used',
        of: (row) => row.bins_used / Math.max(row.bins, 1),
        show: (value) => share(value, 1),
      },
      { head: 'bytes', of: (row) => row.bytes_used, show: size },
      { head: 'history', of: (row) => row.span_ns, show: duration },
      { head: 'complete', of: (row) => row.complete_ns, show: duration },
      { head: 'kept', of: (row) => row.books?.kept ?? 0, show: count },
      { head: 'given up', of: (row) => row.books?.reduced ?? 0, show: count },
      { head: 'reductions', of: (row) => row.reductions, show: count },
    ]);

    /** @param {import('./answers').BuffersReply} reply */
    function draw(reply) {
      const { span, complete } = reply;
      const spans = (/** @type {import('./answers').Spans | null} */ of) =>
        of?.shortest
          ? `${duration(of.min_ns)} at least (${where(of.shortest)}), ${duration(of.mean_ns)} mean`
          : '-';
      /** @type {[string, string, string, number][]} */
      const rows = [
        ['buffers', 'locations', count(reply.locations), reply.locations],
        [
          'keep by',
          'strategies',
          reply.strategies
            .map(({ strategy, ranks }) => `${strategy} (${counted(ranks, 'rank')})`)
            .join(', '),
          reply.strategies.length,
        ],
        [
          'used',
          'bytes_used',
          `${size(reply.bytes_used)} of ${size(reply.bytes)} (` +
            `${share(reply.bins_used, reply.bins)} of the bins)`,
          reply.bytes_used,
        ],
        ['calls kept', 'kept', `${count(reply.kept)} of ${count(reply.stored)}`, reply.kept],
        [
          'visits of regions kept',
          'regions',
          `${count(reply.regions?.kept ?? 0)} of ${count(reply.regions?.stored ?? 0)}`,
          reply.regions?.kept ?? 0,
        ],
        [
          'samples kept',
          'samples',
          `${count(reply.samples?.kept ?? 0)} of ${count(reply.samples?.stored ?? 0)}`,
          reply.samples?.kept ?? 0,
        ],
        ['bytes per call', 'bytes_per_call', reply.bytes_per_call.toFixed(1), reply.bytes_per_call],
        ['history', 'span', spans(span), span?.min_ns ?? 0],
        ['complete', 'complete', spans(complete), complete?.min_ns ?? 0],
      ];
      facts.replaceChildren(
        ...rows.flatMap(([name, field, text, value]) => {
          const told = el('dd', { id: `buffers-${field}` }, text);
          told.dataset.value = `${value}`;
          return [el('dt', {}, name), told];
        }),
      );
      levels.show(reply.levels);
      named.show(reply.named);
    }

    return {
      node: el('div', {}, facts, coverage, levels.node, named.node),
      snapshot: ({ told }) => say(coverage, `${told.coverage}${told.own_cost}`),
      renew: async () => draw(await page.ask('buffers')),
    };
  },
};
