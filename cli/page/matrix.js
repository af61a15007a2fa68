// Who sends to whom: messages from point to point; and those that were matched.

import { chosenTime, ofTime } from './chosen.js';
import { choice, el, say, showNotes } from './dom.js';
import { Picture, Scale } from './picture.js';
import { Table } from './table.js';
import { block, count, counted, size } from './units.js';

/** @typedef {import('./answers').MatrixCell} Cell */
/** @typedef {'bytes' | 'messages'} What */

/** Pairs in the table, those with the most first. */
const PAIRS = 100;
/** Senders and receivers of the picture; more ranks share a cell. */
const SIDE_MAX = 128;

/** @type {import('./screen').Screen} */
export const matrix = {
  id: 'matrix',
  title: 'Matrix',
  make(page) {
    /** @type {What} */
    let what = 'bytes';
    const ways = choice(
      'Show',
      [
        ['bytes', 'bytes sent'],
        ['messages', 'messages sent'],
      ],
      (value) => {
        what = /** @type {What} */ (value);
        page.renew();
      },
    );
    const scale = new Scale();
    const picture = new Picture(
      'Messages: senders downwards, receivers to the right. Arrow keys tell ' + 'about a cell.',
      { square: true },
    );
    let [blockRanks, ranks] = [1, 1];
    const name = (/** @type {number} */ at) => block(at, blockRanks, ranks);
    /** @type {Table<Cell>} */
    const pairs = new Table('Pairs, those with the most first', [
      { head: 'from', of: (cell) => cell.source, show: name },
      { head: 'to', of: (cell) => cell.destination, show: name },
      { head: 'messages sent', of: (cell) => cell.sent?.messages ?? 0, show: count },
      { head: 'bytes sent', of: (cell) => cell.sent?.bytes ?? 0, show: size },
      { head: 'messages received', of: (cell) => cell.received?.messages ?? 0, show: count },
      { head: 'bytes received', of: (cell) => cell.received?.bytes ?? 0, show: size },
    ]);
    const rest = el('p', { class: 'dim' });
    const notes = el('pre');
    const messages = el('pre', { class: 'text' });

    /** @param {import('./answers').MatrixReply} reply */
    function draw(reply) {
      [blockRanks, ranks] = [Math.max(reply.block_ranks, 1), reply.ranks];
      const side = Math.ceil(ranks / blockRanks);
      /** @type {Map<number, Cell>} */
      const cells = new Map(
        reply.cells.map((cell) => [cell.source * side + cell.destination, cell]),
      );
      const of = (/** @type {Cell | undefined} */ cell) => cell?.sent?.[what] ?? 0;
      const most = reply.cells.reduce((max, cell) => Math.max(max, of(cell)), 0);
      const show = what === 'bytes' ? size : count;
      scale.show(show(0), show(most));
      picture.show({
        columns: side,
        rows: side,
        value(column, row) {
          const value = of(cells.get(row * side + column));
          // By the order of magnitude: one pair often has most of all.
          return value > 0 ? 0.08 + 0.92 * (Math.log1p(value) / Math.log1p(most)) : null;
        },
        rowName: name,
        ends: [`to ${name(0)}`, `to ${name(side - 1)}`],
        told(column, row) {
          const sent = cells.get(row * side + column)?.sent;
          return (
            `from ${name(row)} to ${name(column)}: ` +
            (sent ? `${counted(sent.messages, 'message')}, ${size(sent.bytes)}` : 'no message')
          );
        },
      });
      const { selection } = page;
      const isMeant = (/** @type {number} */ at) =>
        !selection ||
        (at * blockRanks <= selection.last_rank && (at + 1) * blockRanks > selection.first_rank);
      const meant = reply.cells.filter((cell) => isMeant(cell.source) || isMeant(cell.destination));
      meant.sort((one, other) => of(other) - of(one));
      const left = meant.length - PAIRS;
      pairs.show(meant.slice(0, PAIRS), left > 0 ? `${counted(left, 'pair')} with less` : '');
      const parts = [
        ofTime(page, reply.interval),
        selection
          ? `pairs of the selected ranks ${selection.first_rank} to ${selection.last_rank}`
          : '',
        reply.unresolved?.messages
          ? `${counted(reply.unresolved.messages, 'message')} whose peer is not known yet`
          : '',
        reply.outside?.messages
          ? `${counted(reply.outside.messages, 'message')} to or from outside of this job`
          : '',
      ];
      say(rest, parts.filter((part) => part).join('; '));
      showNotes(notes, reply);
    }

    return {
      node: el(
        'div',
        {},
        el('div', { class: 'controls' }, ways.node, scale.node),
        picture.node,
        rest,
        pairs.node,
        notes,
        el('h2', {}, 'Messages'),
        messages,
      ),
      async renew() {
        const [reply, matched] = await Promise.all([
          page.ask('matrix', { side: SIDE_MAX, ...chosenTime(page) }),
          page.ask('messages', chosenTime(page)),
        ]);
        draw(reply);
        say(messages, [matched.text, ...matched.notes].join('\n'));
      },
    };
  },
};
