// Whether the job hangs, and where it stands: looked at when it is asked for, because the second
// stops each thread for a moment.

import { el, say } from './dom.js';

/** @type {import('./screen').Screen} */
export const stuck = {
  id: 'stuck',
  title: 'Hangs and stacks',
  make(page) {
    const told = el('p', { class: 'dim' }, 'Nothing has been looked at yet.');
    const text = el('pre', { class: 'text', tabindex: 0, 'aria-label': 'What was seen' });

    /** @param {string} question @param {string} meanwhile */
    async function look(question, meanwhile) {
      say(told, meanwhile);
      try {
        const reply = await page.ask(question);
        say(text, reply.text);
        say(told, `seen at ${new Date().toLocaleTimeString()}`);
      } catch (error) {
        say(told, error instanceof Error ? error.message : `${error}`);
      }
    }

    const hang = el(
      'button',
      { type: 'button', id: 'ask-hang', click: () => look('hang', 'Looking who waits for whom.') },
      'Who waits for whom',
    );
    const stacks = el(
      'button',
      {
        type: 'button',
        id: 'ask-stacks',
        click: () => look('stacks', 'Looking where the ranks are.'),
      },
      'Call paths of all ranks',
    );
    return {
      node: el(
        'div',
        {},
        el('div', { class: 'controls' }, hang, stacks),
        el('p', { class: 'dim' }, 'Call paths stop each thread for a moment; how long, they say.'),
        told,
        text,
      ),
      snapshot() {
        hang.disabled = stacks.disabled = Boolean(page.hello?.job?.observation);
      },
    };
  },
};
