// In which functions the ranks spend their time: sampled call paths as a flame graph, and the
// functions with the most time.

import { steer } from './control.js';
import { choice, el, say } from './dom.js';
import { Flame } from './flame.js';
import { again, below, between, callers, functionsOf, tree } from './paths.js';
import { Table } from './table.js';
import { counted, duration, share } from './units.js';

/** @typedef {import('./paths').Profile} Profile */
/** @typedef {import('./paths').Path} Path */
/** @typedef {import('./paths').FunctionTime} FunctionTime */
/** @typedef {{at: number, profile: Profile, root: Path}} Seen */

const TIMES = /** @type {[string, string][]} */ ([
  ['all', 'since sampling began'],
  ['last', 'the last 10 seconds'],
  ['selected', 'the selected time, as far as buffers keep it'],
]);
const INSIDE = /** @type {[string, string][]} */ ([
  ['0', 'as the function that was called'],
  ['1', 'with its own functions'],
]);
/** Between two questions; what counts as the last seconds; what is too old for them; in ms. */
const [PAUSE_MS, LAST_MS, AWAY_MS] = [1900, 10_000, 15_000];

/** @type {import('./screen').Screen} */
export const profile = {
  id: 'profile',
  title: 'Profile',
  make(page) {
    let [time, inside] = ['all', '0'];
    let asked = 0;
    /** The selection of ranks and time that was there last.
     * @type {typeof page.selection} */
    let selected = null;
    /** Answers of the last seconds, the oldest first. @type {Seen[]} */
    let seen = [];
    /** What they are about. */
    let about = '';
    /** What the search has found, and which of it was gone to.
     * @type {{paths: Path[], at: number}} */
    let found = { paths: [], at: -1 };
    let whole = 0;

    const times = choice('Time', TIMES, (value) => {
      time = value;
      page.renew();
    });
    const insides = choice('The MPI library counts', INSIDE, (value) => {
      inside = value;
      page.renew();
    });
    const search = el('input', {
      id: 'profile-search',
      size: 16,
      placeholder: 'part of a name',
      input: () => find(),
      keydown: (event) => {
        if (event.key === 'Enter') go(event.shiftKey ? -1 : 1);
      },
    });
    const matches = el('span', { class: 'dim', id: 'profile-found', 'aria-live': 'polite' });
    const button = (
      /** @type {string} */ id,
      /** @type {string} */ text,
      /** @type {() => void} */ click,
    ) => el('button', { type: 'button', id, click }, text);
    const out = button('profile-out', 'Out', () => flame.out());
    const all = button('profile-all', 'All', () => flame.all());
    const sample = button('profile-on', 'Sample the ranks (251 Hz)', () => steer(page, 'sample'));
    const stop = button('profile-off', 'End sampling', () => steer(page, 'unsample'));
    const byTimer = button('profile-timer', 'Sample by timers (99 Hz) ...', () =>
      steer(page, 'sampleByTimer'),
    );
    const switches = [sample, byTimer, stop];
    for (const one of switches) one.hidden = true;
    const head = el('p', { class: 'sentence', id: 'profile-head' });
    const ranks = el('p', { class: 'dim' });
    const flame = new Flame();
    /** @type {Table<FunctionTime>} */
    const table = new Table(
      'Functions on a processor, those with the most time of their own first',
      [
        { head: 'own', of: (row) => row.own_ns, show: duration },
        { head: 'share', of: (row) => row.own_ns, show: (ns) => share(ns, whole) },
        { head: 'all', of: (row) => row.ns, show: duration },
        { head: 'share', of: (row) => row.ns, show: (ns) => share(ns, whole) },
        { head: 'function', left: true, of: (row) => row.function },
        { head: 'where', left: true, of: where },
      ],
    );
    const notes = el('pre');
    const picture = el(
      'div',
      {},
      flame.node,
      el(
        'p',
        { class: 'dim' },
        'A function below its callers, as wide as its time. A click shows it and what it calls. ' +
          'Keys: \u2191 \u2193 \u2190 \u2192 go from function to function, Enter into one, Escape ' +
          'out, Home shows all.',
      ),
      table.node,
    );
    const controls = el(
      'div',
      { class: 'controls' },
      times.node,
      insides.node,
      out,
      all,
      el('span', {}, el('label', { for: 'profile-search' }, 'Find'), ' ', search, ' ', matches),
    );
    [picture.hidden, controls.hidden] = [true, true];

    /** The line with the most time, or the file. @param {FunctionTime} row */
    function where({ lines: [first], module }) {
      return first && !first[0].startsWith('+') ? first[0] : module;
    }

    function find() {
      const text = search.value.trim().toLowerCase();
      const root = flame.root;
      if (!root || !text) {
        found = { paths: [], at: -1 };
        flame.highlight(null);
        say(matches, '');
        return;
      }
      const fits = (/** @type {Path} */ { name, module }) =>
        name.toLowerCase().includes(text) || module.toLowerCase().includes(text);
      const paths = [...below(root)].filter((path) => path.caller && fits(path));
      found = { paths, at: -1 };
      const set = new Set(paths);
      flame.highlight(set);
      // What is below another one that was found counts once.
      const isOutermost = (/** @type {Path} */ path) =>
        !callers(path)
          .slice(0, -1)
          .some((caller) => set.has(caller));
      const ns = paths.filter(isOutermost).reduce((sum, path) => sum + path.ns, 0);
      matches.dataset.value = `${ns}`;
      say(matches, `${share(ns, root.ns)} in ${counted(paths.length, 'path')}`);
    }

    /** @param {number} by */
    function go(by) {
      const { paths } = found;
      if (!paths.length) return;
      found.at = (found.at + by + paths.length) % paths.length;
      flame.zoom(flame.root);
      flame.select(paths[found.at]);
    }

    /** The newest answer, or what came to it in the last seconds. */
    function draw() {
      const now = seen.at(-1);
      if (!now) return;
      const isAny = now.profile.sampled_ranks > 0;
      // Another time may have some.
      [picture.hidden, controls.hidden] = [!isAny, !isAny && time !== 'selected'];
      if (!isAny) {
        say(head, `${now.profile.text}.`);
      } else if (time !== 'last') {
        say(head, `${now.profile.text}.`);
        show(now.root, now.profile.functions);
      } else {
        const before = seen[0];
        const root = between(before.root, now.root);
        say(head, difference(before, now));
        show(root, functionsOf(root));
      }
      say(notes, now.profile.notes.map((note) => `note: ${note}`).join('\n'));
    }

    /** @param {Path} root @param {FunctionTime[]} functions */
    function show(root, functions) {
      whole = root.ns;
      flame.show(root, (path) => again(root, path));
      table.show(functions);
      const { at } = found;
      find();
      found.at = at < found.paths.length ? at : -1;
    }

    /** @param {Seen} before @param {Seen} now */
    function difference(before, now) {
      if (before === now) return 'The last seconds begin now.';
      const less = (/** @type {'samples' | 'cpu_ns' | 'elapsed_ns'} */ field) =>
        Math.max(now.profile[field] - before.profile[field], 0);
      return (
        `In the last ${duration((now.at - before.at) * 1e6)}: ` +
        `${counted(less('samples'), 'sample')} of ` +
        `${counted(now.profile.sampled_ranks, 'rank')}, on a processor ` +
        `${share(less('cpu_ns'), less('elapsed_ns'))} of the time.`
      );
    }

    /** A new selection is what people want to see, and without one there is no time of it. */
    function follow() {
      const { selection } = page;
      if (selection !== selected) {
        if (selection) time = 'selected';
        else if (time === 'selected') time = 'all';
        selected = selection;
        times.select.value = time;
      }
      const option = times.select.querySelector('option[value=selected]');
      if (option instanceof HTMLOptionElement) option.disabled = !selection;
    }

    /** @param {Profile} of */
    function drawSwitches({ frequency_max, interval, sampled_ranks, without }) {
      const { selection } = page;
      const chosen = selection
        ? `only the selected ranks ${selection.first_rank} to ${selection.last_rank}`
        : '';
      say(ranks, chosen);
      if (interval) {
        // What buffers keep does not say whether there are samples now.
        for (const one of switches) one.hidden = true;
        return;
      }
      const may = page.hello?.scope === 'control';
      const isOff =
        (frequency_max === 0 && sampled_ranks > 0) ||
        without.some(({ reason }) =>
          ['off', 'broken', 'signal in use', 'too often', 'no timers'].includes(reason),
        );
      const isAwaited = without.some(({ reason }) => reason === 'next call');
      const isForbidden = without.some(
        ({ reason }) => reason === 'forbidden' || reason === 'unsupported',
      );
      const isAtButton = switches.some((one) => one === document.activeElement);
      sample.hidden = !(may && isOff);
      byTimer.hidden = !(may && isForbidden);
      stop.hidden = !(may && (frequency_max > 0 || isAwaited));
      // The focus does not go away with a button.
      if (isAtButton) switches.find((one) => !one.hidden)?.focus();
      const parts = [
        chosen,
        // Of ranks that never were sampled the sentence says it.
        isOff && !may && sampled_ranks > 0 ? 'to sample again, type: invivo sampling on' : '',
      ];
      say(ranks, parts.filter((part) => part).join('; '));
    }

    return {
      node: el(
        'div',
        {},
        head,
        ranks,
        el('div', { class: 'controls' }, ...switches),
        controls,
        picture,
        notes,
      ),
      async renew(isWanted) {
        follow();
        // Nothing of what was saved is of the last seconds.
        times.node.hidden = Boolean(page.hello?.job?.observation);
        if (!isWanted && performance.now() - asked < PAUSE_MS) return;
        asked = performance.now();
        const { selection } = page;
        const part = selection
          ? { first_rank: selection.first_rank, last_rank: selection.last_rank }
          : {};
        const interval =
          selection && time === 'selected'
            ? { from_ns: selection.from_ns, to_ns: selection.to_ns }
            : {};
        const words = { inside, ...part, ...interval };
        /** @type {Profile} */
        const answer = await page.ask('profile', words);
        const at = performance.now();
        const isOther = about !== JSON.stringify(words);
        about = JSON.stringify(words);
        // What was seen before somebody was away is not of the last seconds.
        // And where other ranks answer than before, all that was ever seen of one would count.
        const last = seen.at(-1)?.profile;
        const isLike =
          !last || (last.sampled_ranks === answer.sampled_ranks && last.samples <= answer.samples);
        seen = isOther || !isLike ? [] : seen.filter((one) => at - one.at < AWAY_MS);
        seen.push({ at, profile: answer, root: tree(answer) });
        while (seen[1] && at - seen[1].at >= LAST_MS) seen.shift();
        drawSwitches(answer);
        draw();
      },
    };
  },
};
