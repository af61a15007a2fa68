// Loops of the program, found without marks: how many iterations, how long, and which was longest.

import { chosenTime, ofTime } from './chosen.js';
import { place } from './code.js';
import { el, say, showNotes } from './dom.js';
import { Table } from './table.js';
import { count, duration, share } from './units.js';

/** @typedef {import('./answers').LoopRow} LoopRow */
/** With its number in the table. @typedef {LoopRow & {number: number}} Row */

/** With what an iteration begins. @param {LoopRow} row */
function begins(row) {
  const name = row.begin?.calls?.function ?? '';
  return row.bursts ? `${name}, the first of several` : name;
}

/** Iterations of one rank. @param {LoopRow} row */
function iterations({ iterations_min, iterations_max }) {
  return iterations_min === iterations_max
    ? count(iterations_max)
    : `${count(iterations_min)}..${count(iterations_max)}`;
}

/** @type {import('./screen').Screen} */
export const loops = {
  id: 'iterations',
  title: 'Iterations',
  make(page) {
    /** @type {import('./table').Column<Row>[]} */
    const columns = [
      { head: 'loop', of: (row) => row.number },
      { head: 'an iteration begins with', left: true, of: begins },
      { head: 'called from', left: true, of: (row) => (row.begin ? place(row.begin) : '') },
      { head: 'iterations', of: (row) => row.iterations_max, show: (_, row) => iterations(row) },
      { head: 'mean', of: (row) => row.mean_ns, show: duration },
      { head: 'deviation', of: (row) => row.stddev_ns, show: duration },
      { head: 'min', of: (row) => row.min_ns, show: duration },
      { head: 'max', of: (row) => row.max_ns, show: duration },
      { head: 'of rank', of: (row) => row.max_rank },
      { head: 'at', of: (row) => row.max_from_ns, show: duration },
      { head: 'others', of: (row) => row.others, show: count },
      {
        head: 'their mean',
        of: (row) => (row.others ? row.others_ns / row.others : 0),
        show: (ns, row) => (row.others ? duration(ns) : '-'),
      },
      { head: 'share', of: (row) => row.share, show: (part) => share(part, 1) },
      { head: 'ranks', of: (row) => row.ranks },
    ];
    const table = new Table('Loops of the program', columns);
    /** The main loop. @type {LoopRow | null} */
    let main = null;
    /** The iteration that was chosen here: loops stay those of all time.
     * @type {import('./screen').Selection | null} */
    let one = null;

    /** Shows one iteration of all ranks. @param {number} from_ns @param {number} to_ns */
    function goTo(from_ns, to_ns) {
      const last_rank = (page.hello?.job?.ranks ?? 1) - 1;
      one = { from_ns, to_ns, first_rank: 0, last_rank };
      page.select(one);
      location.hash = 'timeline';
    }
    const last = el('button', {
      type: 'button',
      click: () => main && goTo(main.last_from_ns, main.last_to_ns),
    });
    const longest = el('button', {
      type: 'button',
      click: () => main && goTo(main.max_from_ns, main.max_to_ns),
    });
    const buttons = el('p', {}, last, ' ', longest);
    const nothing = el('p');
    const limits = el('p', { class: 'dim' });
    const notes = el('pre');
    table.node.hidden = buttons.hidden = true;

    async function renew() {
      if (page.hello?.job?.observation) {
        say(nothing, 'loops are found with call sites, which a saved observation does not have');
        return;
      }
      /** @type {import('./answers').IterationsReply & {text?: string, main?: number}} */
      const reply = await page.ask('iterations', page.selection === one ? {} : chosenTime(page));
      table.show(reply.rows.map((row, at) => ({ ...row, number: at + 1 })));
      main = reply.rows[reply.main ?? -1] ?? null;
      table.node.hidden = reply.rows.length === 0;
      buttons.hidden = !main;
      if (main) {
        say(last, `Show the last one of loop ${(reply.main ?? 0) + 1}`);
        say(longest, 'Show the longest');
      }
      say(nothing, reply.text ?? '');
      const all = { ...page, selection: null };
      say(limits, ofTime(page.selection === one ? all : page, reply.interval));
      showNotes(notes, reply);
    }

    return { node: el('div', {}, nothing, limits, buttons, table.node, notes), renew };
  },
};
