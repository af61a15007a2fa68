// Which regions and MPI functions are recorded: the rules in force, and what adds some.

import { el, say } from './dom.js';
import { Table } from './table.js';
import { count } from './units.js';

/** @typedef {import('./answers').SelectionRuleStatus} Rule */

/** Asks and changes. @param {import('./screen').Page} page */
export function recorded(page) {
  /** @type {Table<Rule>} */
  const table = new Table('Rules of what is recorded: the last one that fits decides', [
    {
      head: 'rule',
      left: true,
      of: ({ rule }) => `${rule?.include ? 'include' : 'exclude'} ${rule?.fits ?? ''}`,
    },
    { head: 'decides about regions', of: (row) => row.regions, show: count },
  ]);
  // Nothing says more than a table without rows.
  table.node.hidden = true;
  const told = el('pre');
  const pattern = el('input', { size: 24, placeholder: 'tiny_*' });

  /** @param {string} word */
  const add = (word) =>
    pattern.value.trim() && page.give('selection', { rules: `${word} ${pattern.value.trim()}` });
  const buttons = [
    el('button', { type: 'button', click: () => add('exclude') }, 'Leave out'),
    el('button', { type: 'button', click: () => add('include') }, 'Record these'),
    el(
      'button',
      { type: 'button', click: () => page.give('selection', { rules: '', replace: true }) },
      'Record everything',
    ),
  ];
  const controls = el(
    'div',
    { class: 'controls' },
    el('label', {}, 'Regions and MPI functions ', pattern),
    ...buttons,
  );
  const node = el('div', {}, controls, table.node, told);

  return {
    node,
    /** @param {boolean} may */
    allow(may) {
      for (const control of [pattern, ...buttons]) control.disabled = !may;
    },
    async renew() {
      // What was saved has no rules, and older jobs have none.
      node.hidden =
        Boolean(page.hello?.job?.observation) || !page.hello?.capabilities.includes('selection');
      if (node.hidden) return;
      /** @type {import('./answers').SelectionReply & {notes: string[]}} */
      const reply = await page.ask('selection');
      table.show(reply.rules);
      table.node.hidden = reply.rules.length === 0;
      say(told, reply.notes.join('\n'));
    },
  };
}
