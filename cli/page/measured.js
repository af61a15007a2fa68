// What is measured of each rank beside its calls: which metrics, how often, and why not others.

import { el, say } from './dom.js';
import { hasMetrics } from './values.js';

/** @typedef {import('./answers').MetricStatus} Metric */

/** All that the program keeps, whose names are known only once it keeps them. */
const PROGRAM = 'program';

/** Asks and changes. @param {import('./screen').Page} page */
export function measured(page) {
  const told = el('pre');
  const every = el('input', { size: 6, value: '100ms' });
  const list = el('div', { class: 'controls' });
  /** By the name of the metric. @type {Map<string, HTMLInputElement>} */
  const boxes = new Map();
  // What the reader has chosen is not taken back until it is applied.
  let isChosen = false;
  let isAllowed = false;

  /** @param {string} name @param {string} tells */
  function box(name, tells) {
    const input = el('input', { type: 'checkbox', change: () => (isChosen = true) });
    boxes.set(name, input);
    list.append(el('label', { title: tells }, input, ` ${name}`));
    return input;
  }

  const program = box(PROGRAM, 'What the program keeps itself: counters and values');

  /** @param {string} names */
  function measure(names) {
    isChosen = false;
    page.give('metrics', { names, every: every.value.trim() || undefined });
  }
  const chosen = () => [...boxes].filter(([, input]) => input.checked).map(([name]) => name);
  const buttons = [
    el('button', { type: 'button', click: () => measure(chosen().join(',')) }, 'Measure these'),
    el('button', { type: 'button', click: () => measure('usual') }, 'Measure the usual ones'),
    el('button', { type: 'button', click: () => measure('') }, 'Measure nothing'),
  ];

  /** @param {Metric} metric @param {number} ranks */
  function show({ name, tells, ranks_now: now, without }, ranks) {
    const input = boxes.get(name) ?? box(name, tells);
    const lasting = without.filter(({ reason }) => reason === 'unsupported');
    const cannot = lasting.reduce((sum, of) => sum + of.ranks, 0) >= Math.max(ranks, 1);
    input.dataset.cannot = `${cannot}`;
    if (!isChosen) input.checked = now > 0;
  }

  function allow() {
    for (const control of [every, ...buttons]) control.disabled = !isAllowed;
    for (const input of boxes.values()) {
      input.disabled = !isAllowed || input.dataset.cannot === 'true';
    }
  }

  const node = el(
    'section',
    { 'aria-label': 'Metrics' },
    el('h3', {}, 'Metrics, measured of each rank from outside'),
    list,
    el('div', { class: 'controls' }, el('label', {}, 'every ', every), ...buttons),
    told,
  );

  return {
    node,
    /** @param {boolean} may */
    allow(may) {
      isAllowed = may;
      allow();
    },
    async renew() {
      node.hidden = !hasMetrics(page);
      if (node.hidden) return;
      /** @type {import('./answers').MetricsReply & {notes: string[]}} */
      const reply = await page.ask('metrics');
      if (!isChosen) program.checked = reply.ranks_program > 0;
      for (const metric of reply.metrics) {
        // Those of the program are measured together.
        if (metric.tells) show(metric, reply.ranks);
      }
      allow();
      say(told, reply.notes.join('\n'));
    },
  };
}
