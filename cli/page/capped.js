// The cap on what the measurement takes of the ranks' time, and what is given up for it.

import { el, say } from './dom.js';

/** Changes it. @param {import('./screen').Page} page */
export function capped(page) {
  const told = el('pre');
  const cap = el('input', { size: 6, value: '2%' });
  const buttons = [
    el(
      'button',
      { type: 'button', click: () => page.give('overhead', { cap: cap.value.trim() }) },
      'Keep the overhead below this',
    ),
    el('button', { type: 'button', click: () => page.give('overhead', { cap: 'off' }) }, 'No cap'),
  ];
  const node = el(
    'section',
    { 'aria-label': 'Overhead' },
    el('h3', {}, "Overhead: the measurement's share of the ranks' time"),
    el('div', { class: 'controls' }, el('label', {}, 'cap ', cap), ...buttons),
    told,
  );

  return {
    node,
    /** @param {boolean} may */
    allow(may) {
      for (const control of [cap, ...buttons]) control.disabled = !may;
    },
    /** @param {import('./server').Told} of */
    show({ governance }) {
      // What was saved has none, and gateways of before know of none.
      node.hidden = !page.hello?.capabilities.includes('overhead');
      node.hidden ||= Boolean(page.hello?.job?.observation);
      say(told, governance.join('\n'));
    },
  };
}
