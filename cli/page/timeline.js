// What every rank did, call by call: asked for, and then looked at in peace while the job runs on.

import { Calls, point } from './calls.js';
import { choice, el, say } from './dom.js';
import { LINES_MAX } from './strokes.js';
import { Tracks } from './tracks.js';
import { count, counted, duration } from './units.js';

/** @typedef {import('./calls').Place} Place */

const LENGTHS = /** @type {[string, string][]} */ ([
  ['100000000', 'the last 100 ms'],
  ['1000000000', 'the last second'],
  ['5000000000', 'the last 5 s'],
  ['60000000000', 'the last minute'],
  ['86400000000000', 'all that the buffers keep'],
  ['selection', 'the selection'],
]);

/** @type {import('./screen').Screen} */
export const timeline = {
  id: 'timeline',
  title: 'Timeline',
  make(page) {
    const usual = page.hello?.job?.observation ? LENGTHS[4][0] : LENGTHS[1][0];
    let length = usual;
    /** What was selected when the calls were asked for.
     * @type {import('./screen').Selection | null} */
    let selection = null;
    /** Questions so far. */
    let asked = 0;
    /** @type {Calls | null} */
    let calls = null;
    /** What the search has found, and which of it was gone to.
     * @type {{places: Place[], at: number}} */
    let found = { places: [], at: -1 };

    const lengths = choice('Look at', LENGTHS, (value) => {
      length = value;
      look();
    });
    lengths.select.value = length;
    const again = el('button', { type: 'button', id: 'look', click: () => look() }, 'Look again');
    const search = el('input', {
      id: 'search',
      size: 16,
      placeholder: 'send >1ms',
      input: () => find(),
      keydown: (event) => {
        if (event.key === 'Enter') go(event.shiftKey ? -1 : 1);
      },
    });
    const matches = el('span', { class: 'dim', 'aria-live': 'polite' });
    const about = el('p', { class: 'dim', id: 'timeline-about' });
    const shown = el('p', { class: 'dim' });
    const missing = el('pre');
    const legend = el('ul', { class: 'legend', 'aria-label': 'Functions in what is shown' });
    const tracks = new Tracks({ changed: () => drawLegend() });
    const button = (/** @type {string} */ text, /** @type {() => void} */ click) =>
      el('button', { type: 'button', click }, text);

    async function look() {
      asked += 1;
      const mine = asked;
      ({ selection } = page);
      const isSelection = length === 'selection';
      if (isSelection && !selection) {
        say(about, 'Nothing is selected: choose a part of Ranks \u00d7 time first.');
        return;
      }
      again.disabled = true;
      say(about, 'Gathering the calls of all ranks.');
      try {
        const part = isSelection ? { ...selection } : { last_ns: length };
        const answer = await page.ask('timeline', part);
        // Somebody has asked for another part meanwhile.
        if (mine !== asked) return;
        calls = new Calls(answer);
        tracks.show(calls);
        find();
        tell(calls);
      } catch (error) {
        if (mine === asked) say(about, error instanceof Error ? error.message : `${error}`);
      } finally {
        if (mine === asked) again.disabled = false;
      }
    }

    /** @param {Calls} of */
    function tell(of) {
      const { answer } = of;
      const [all, visits, samples] = [of.count(), of.visits(), of.samples()];
      say(
        about,
        `${counted(all, 'call')} ${visits ? `and ${counted(visits, 'visit')} of regions ` : ''}` +
          `${samples ? `and ${counted(samples, 'sample')} ` : ''}` +
          `of ${counted(of.locations.length, 'location')}, ` +
          `${counted(answer.messages.length, 'message')} with both ends; seen at ` +
          new Date().toLocaleTimeString() +
          (answer.clock_error_ns ? `; times within ${duration(answer.clock_error_ns)}` : ''),
      );
      about.dataset.calls = `${all}`;
      about.dataset.visits = `${visits}`;
      about.dataset.samples = `${samples}`;
      about.dataset.messages = `${answer.messages.length}`;
      say(missing, of.missing().join('\n'));
    }

    function find() {
      if (!calls) return;
      const text = search.value.trim();
      found = { places: calls.search(text), at: -1 };
      tracks.highlight(text ? found.places : null);
      say(matches, text ? counted(found.places.length, 'call') : '');
    }

    /** @param {number} by */
    function go(by) {
      const { places } = found;
      if (!places.length) return;
      found.at = (found.at + by + places.length) % places.length;
      tracks.select(places[found.at]);
      say(matches, `${count(found.at + 1)} of ${counted(places.length, 'call')}`);
    }

    /** Time and calls of each function in what is shown. */
    function drawLegend() {
      if (!calls) return;
      const of = calls;
      const { from, to } = tracks.view;
      const sums = of.answer.functions.map((name, at) => ({ name, at, ns: 0, calls: 0 }));
      of.locations.forEach(({ function: functions, begin_ns, end_ns }, location) => {
        for (let call = of.from(location, from); begin_ns[call] <= to; call += 1) {
          const sum = sums[functions[call]];
          if (!sum) continue;
          sum.ns += Math.min(end_ns[call], to) - Math.max(begin_ns[call], from);
          sum.calls += 1;
        }
      });
      const rows = sums.filter((sum) => sum.calls > 0).sort((one, other) => other.ns - one.ns);
      legend.replaceChildren(
        ...rows.map(({ name, at, ns, calls: number }) => {
          const swatch = el('i');
          swatch.style.background = of.colours[at];
          const text = `${name} ${duration(ns)} in ${counted(number, 'call')}`;
          const item = el('li', {}, swatch, text);
          item.dataset.value = `${number}`;
          return item;
        }),
      );
      requestAnimationFrame(() => {
        say(
          shown,
          `${duration(to - from)} from ${point(from)} on` +
            (tracks.lines > LINES_MAX
              ? `; ${counted(tracks.lines, 'message')} are too many lines: zoom in to see them`
              : ''),
        );
      });
    }

    return {
      node: el(
        'div',
        {},
        el(
          'div',
          { class: 'controls' },
          lengths.node,
          again,
          button('+', () => tracks.zoom(2)),
          button('\u2212', () => tracks.zoom(0.5)),
          button('All', () => tracks.all()),
          el('span', {}, el('label', { for: 'search' }, 'Find'), ' ', search, ' ', matches),
        ),
        about,
        tracks.node,
        shown,
        legend,
        missing,
        el(
          'p',
          { class: 'dim' },
          'Drag to zoom, with Shift to measure; Ctrl and the wheel zoom; a click selects a call ' +
            'and its messages. Keys: , . \u2191 \u2193 go from call to call, M to the other end ' +
            'of a message, + \u2212 \u2190 \u2192 Home move, [ ] measure from call to call. ' +
            'All calls for other tools: invivo timeline -o, invivo save.',
        ),
      ),
      // Whoever selects a part and comes here wants to see its calls.
      shown() {
        if (page.selection === selection) return;
        lengths.select.value = length = page.selection ? 'selection' : usual;
        look();
      },
      snapshot() {
        if (!calls && !again.disabled && !about.textContent) look();
      },
    };
  },
};
