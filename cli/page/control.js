// Steering, and who has steered. What stops the application or cannot be undone asks first.

import { capped } from './capped.js';
import { byId, el, say } from './dom.js';
import { measured } from './measured.js';
import { recorded } from './recorded.js';
import { Table } from './table.js';
import { count } from './units.js';

/** @typedef {import('./server').Words} Words */
/**
 * @typedef {object} Order
 * @property {string} order
 * @property {string} text on its button
 * @property {string} [ask] what is asked before
 * @property {[string, string]} [time] label and default of a time that it takes
 * @property {Words} [words]
 */

/** @type {Record<string, Order>} */
const ORDERS = {
  pause: {
    order: 'pause',
    text: 'Pause',
    time: ['for at most', '10m'],
    ask: 'Every rank of the application stands still until it is resumed, or for this time.',
  },
  resume: { order: 'resume', text: 'Resume' },
  on: { order: 'record', text: 'Recording on', words: { on: true } },
  off: { order: 'record', text: 'Recording off', words: { on: false } },
  window: {
    order: 'window',
    text: 'Record a window',
    time: ['of', '2s'],
    ask:
      'All that was recorded so far is forgotten, for everybody who looks at this job; after the ' +
      'window recording is off.',
  },
  reset: {
    order: 'reset',
    text: 'Reset',
    ask:
      'All that was recorded so far is forgotten, for everybody who looks at this job. This ' +
      'cannot be undone.',
  },
  sample: { order: 'sampling', text: 'Sampling on (251 Hz)', words: { frequency: 'on' } },
  sampleByTimer: {
    order: 'sampling',
    text: 'Sampling by timers (99 Hz)',
    words: { frequency: 'timer' },
    ask:
      'Each thread of the application gets a timer, whose signal (SIGURG) is handled in the ' +
      'program. A thread that is met on its way to sleep may wake up early.',
  },
  unsample: { order: 'sampling', text: 'Sampling off', words: { frequency: 'off' } },
  shutdown: {
    order: 'shutdown',
    text: 'End the measurement',
    ask:
      'The measurement ends for good, for everybody who looks at this job; the report is written ' +
      'now, and the application runs on. This cannot be undone.',
  },
};

/** Asks, where there is something to ask; nothing where the answer is no.
 * @param {Order} order @returns {Promise<Words | null>} */
function confirmed({ text, ask, time, words = {} }) {
  if (!ask) return Promise.resolve(words);
  const dialog = /** @type {HTMLDialogElement} */ (byId('dialog'));
  const input = el('input', { size: 6, value: time?.[1] ?? '' });
  return new Promise((done) => {
    dialog.replaceChildren(
      el('h2', { id: 'question' }, `${text}?`),
      el('p', {}, ask),
      ...(time ? [el('label', {}, `${time[0]} `, input)] : []),
      el(
        'form',
        { method: 'dialog', class: 'controls' },
        el('button', { value: 'no' }, 'Cancel'),
        el('button', { value: 'yes' }, text),
      ),
    );
    dialog.returnValue = 'no';
    dialog.onclose = () => {
      const more = time ? { time: input.value } : {};
      done(dialog.returnValue === 'yes' ? { ...words, ...more } : null);
    };
    dialog.showModal();
  });
}

/** Gives an order by its name, if the reader says yes where it asks.
 * @param {import('./screen').Page} page @param {string} name */
export async function steer(page, name) {
  const order = ORDERS[name];
  const words = await confirmed(order);
  if (words) await page.give(order.order, words);
}

/** @type {import('./screen').Screen} */
export const control = {
  id: 'control',
  title: 'Control',
  make(page) {
    const state = el('p', { class: 'sentence' });
    const why = el('p', { class: 'dim' });
    const buttons = Object.entries(ORDERS).map(([name, { text }]) =>
      el('button', { type: 'button', id: `do-${name}`, click: () => steer(page, name) }, text),
    );

    /** @type {Table<import('./answers').AnalysisStatus>} */
    const analyses = new Table('Analyses', [
      { head: 'analysis', left: true, of: (row) => row.name },
      { head: 'on for ranks', of: (row) => row.on, show: count },
      { head: 'off for ranks', of: (row) => row.off, show: count },
      { head: 'ns a call', of: (row) => row.cost_ns },
      { head: 'answers', left: true, of: (row) => row.answers },
    ]);
    const switches = el('div', { class: 'controls' });
    const rules = recorded(page);
    const metrics = measured(page);
    const overhead = capped(page);

    /** @type {Table<import('./answers').AuditEntry>} */
    const audit = new Table('Commands, the newest first', [
      {
        head: 'when',
        left: true,
        of: (row) => row.unix_ns,
        show: (ns) => new Date(ns / 1e6).toLocaleTimeString(),
      },
      { head: 'command', left: true, of: (row) => `${row.command} ${row.arguments}`.trim() },
      { head: 'outcome', left: true, of: (row) => row.outcome || 'in progress' },
      {
        head: 'by',
        left: true,
        of: (row) =>
          [row.client, row.uid === null ? '' : `user ${row.uid}`, row.peer]
            .filter((part) => part)
            .join(', '),
      },
    ]);

    /** @param {import('./answers').AnalysisStatus[]} rows */
    function drawSwitches(rows) {
      analyses.show(rows);
      const made = rows.map((row) => {
        const on = row.off > 0;
        return el(
          'button',
          {
            type: 'button',
            disabled: !may(),
            click: () => page.give('analyses', { names: row.name, on }),
          },
          `Switch ${row.name} ${on ? 'on' : 'off'}`,
        );
      });
      // Only where something has changed, so that the focus stays.
      const text = made.map((button) => button.outerHTML).join('');
      if (switches.dataset.text !== text) {
        switches.dataset.text = text;
        switches.replaceChildren(...made);
      }
    }

    const may = () => page.hello?.scope === 'control' && !page.hello.job?.observation;

    return {
      node: el(
        'div',
        {},
        state,
        why,
        el('div', { class: 'controls' }, ...buttons),
        analyses.node,
        switches,
        rules.node,
        metrics.node,
        overhead.node,
        audit.node,
      ),
      snapshot({ told }) {
        say(
          state,
          `${told.pause ? `Paused, for at most ${told.pause} more` : told.states}. ` +
            `Recording: ${told.recording}.` +
            (told.measured ? ` Measured: ${told.measured}.` : ''),
        );
        for (const button of buttons) button.disabled = !may();
        rules.allow(may());
        metrics.allow(may());
        overhead.allow(may());
        overhead.show(told);
        const observation = page.hello?.job?.observation;
        say(
          why,
          observation
            ? 'This is what was saved: nothing runs that could be steered.'
            : may()
              ? ''
              : 'This page looks only: its scope is view.',
        );
      },
      async renew() {
        const [on, log] = await Promise.all([
          page.ask('analyses'),
          page.ask('audit'),
          rules.renew(),
          metrics.renew(),
        ]);
        drawSwitches(on.analyses);
        audit.show([...log.entries].reverse());
      },
    };
  },
};
