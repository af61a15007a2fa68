// The page: comes in, keeps the stream of snapshots, and shows one screen at a time.

import { Bar } from './bar.js';
import { buffers } from './buffers.js';
import { control, steer } from './control.js';
import { byId, choice, el, say } from './dom.js';
import { functions } from './functions.js';
import { loops } from './iterations.js';
import { matrix } from './matrix.js';
import { now } from './now.js';
import { profile } from './profile.js';
import { regions } from './regions.js';
import * as server from './server.js';
import { stuck } from './stuck.js';
import { time } from './time.js';
import { timeline } from './timeline.js';
import { waits } from './waits.js';

/** @type {import('./screen').Screen[]} */
const SCREENS = [
  now,
  time,
  timeline,
  functions,
  loops,
  regions,
  profile,
  matrix,
  waits,
  stuck,
  buffers,
  control,
];
/** Their keys, in this order: a screen that comes later takes none of the digits. */
const SCREEN_KEYS = '1234ir567890';
/** Between two questions of a screen, and between two attempts to reach the server, in ms. */
const [RENEW_MS, RETRY_MS] = [1000, 1000];
const RATES = /** @type {[string, string][]} */ ([
  ['1000000000', 'each second'],
  ['100000000', 'ten a second'],
  ['5000000000', 'each 5 s'],
]);
/** Keys that steer, as in `invivo top`. @type {Record<string, string>} */
const STEER_KEYS = { P: 'pause', C: 'resume', X: 'reset', W: 'window' };

/** @type {import('./bar').State} */
const state = { connection: 'connecting', why: '' };
let intervalNs = Number(RATES[0][0]);
let isFrozen = false;
/** The stream of now. */
let stream = new AbortController();
/** @type {import('./screen').Made | null} */
let made = null;
/** Screens that were shown keep what they have. @type {Map<string, import('./screen').Made>} */
const screens = new Map();
let [isAsking, isAskedAgain, renewed] = [false, false, 0];

const bar = new Bar(byId('bar'), () => page.select(null));

/** @type {import('./screen').Page} */
const page = {
  hello: null,
  shown: null,
  before: null,
  selection: null,
  ask: server.ask,
  async give(order, words = {}) {
    tell('Waiting for every rank.');
    try {
      const { sentence, not_done } = await server.give(order, words);
      tell([sentence, ...not_done].join('\n'), not_done.length > 0);
    } catch (error) {
      tell(told(error), true);
    }
    renew(true);
  },
  select(selection) {
    page.selection = selection;
    bar.show(page);
    renew(true);
  },
  renew: () => renew(true),
};

/** What happened, below the screen. @param {string} text */
function tell(text, isWarning = false) {
  const said = byId('said');
  say(said, text);
  said.className = isWarning ? 'warn' : '';
}

/** @param {unknown} error */
function told(error) {
  return error instanceof server.Refusal
    ? error.message
    : 'invivo web does not answer: it has ended, or the way to it is broken';
}

/** @param {import('./bar').State['connection']} connection */
function connect(connection, why = '') {
  [state.connection, state.why] = [connection, why];
  bar.page(isFrozen && connection === 'live' ? { connection: 'frozen', why } : state);
}

/** Asks what the screen shows, unless that was done just now or is not answered yet. */
async function renew(isWanted = false) {
  if (isAsking) {
    isAskedAgain ||= isWanted;
    return;
  }
  const isDue = performance.now() - renewed >= RENEW_MS;
  if (!made?.renew || !(isWanted || (isDue && !isFrozen))) return;
  [isAsking, renewed] = [true, performance.now()];
  try {
    await made.renew(isWanted);
    document.body.dataset.renewed = `${page.shown?.snapshot.sequence ?? 0}`;
  } catch (error) {
    // The stream says what is wrong with the connection; this is about the question.
    if (error instanceof server.Refusal && error.status !== 503) tell(told(error), true);
    else if (!(error instanceof server.Refusal || error instanceof TypeError)) throw error;
  } finally {
    isAsking = false;
  }
  if (isAskedAgain) {
    isAskedAgain = false;
    renew(true);
  }
}

/** @param {server.Line} line */
async function take(line) {
  if (line.ended) return connect('ended', 'the measurement has ended');
  if (line.away !== undefined) return connect('away', line.away);
  if (!line.snapshot) return undefined;
  // Another gateway may know more: asked anew after each break.
  if (!page.hello || state.connection !== 'live') {
    page.hello = await server.ask('hello');
    connect('live');
  }
  missed(line.snapshot);
  [page.before, page.shown] = [page.shown, line.snapshot];
  bar.show(page);
  document.body.dataset.sequence = `${line.snapshot.snapshot.sequence}`;
  if (!isFrozen) made?.snapshot?.(line.snapshot);
  renew();
  return undefined;
}

/** Says what went by while nobody looked. @param {server.Shown} shown */
function missed({ snapshot }) {
  const before = page.shown?.snapshot;
  if (!before) return;
  const ms = (snapshot.unix_ns - before.unix_ns) / 1e6;
  if (ms > 10 * Math.max(intervalNs / 1e6, RENEW_MS)) {
    tell(
      `No snapshots came for ${Math.round(ms / 1000)} s; what the job did meanwhile is in the ` +
        'tables and in ranks \u00d7 time.',
    );
  }
}

/** Follows the stream, opens it again where it breaks, and rests while the page is hidden. */
async function follow() {
  for (;;) {
    if (document.hidden) {
      connect('hidden');
      await new Promise((done) => {
        document.addEventListener('visibilitychange', done, { once: true });
      });
      continue;
    }
    stream = new AbortController();
    try {
      for await (const line of server.lines(intervalNs, stream.signal)) {
        await take(line);
        if (state.connection === 'ended') return;
      }
      connect('away', 'the stream has ended');
    } catch (error) {
      if (error instanceof server.Refusal && [401, 403].includes(error.status)) {
        connect('out', error.message);
        return tell(error.message, true);
      }
      if (!stream.signal.aborted) connect('away', told(error));
    }
    if (!document.hidden && !stream.signal.aborted) {
      await new Promise((done) => {
        setTimeout(done, RETRY_MS);
      });
    }
  }
}

/** Shows the screen that the address names. */
function go() {
  const id = location.hash.slice(1);
  const screen = SCREENS.find((one) => one.id === id) ?? SCREENS[0];
  made = screens.get(screen.id) ?? screen.make(page);
  screens.set(screen.id, made);
  byId('screen').replaceChildren(el('h2', {}, screen.title), made.node);
  for (const link of document.querySelectorAll('nav a')) {
    if (link.getAttribute('href') === `#${screen.id}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  made.shown?.();
  if (page.shown) made.snapshot?.(page.shown);
  renew(true);
}

function freeze() {
  isFrozen = !isFrozen;
  connect(state.connection, state.why);
  if (!isFrozen) renew(true);
}

function help() {
  const dialog = /** @type {HTMLDialogElement} */ (byId('dialog'));
  const keys = [
    ...SCREENS.map(({ title }, at) => [SCREEN_KEYS[at], title]),
    ['space', 'freeze or unfreeze the screen; the bar stays live'],
    ['P, C', 'pause the application, let it continue'],
    ['R', 'recording on or off'],
    ['W, X', 'record a window, reset'],
    ['?', 'this'],
  ];
  dialog.onclose = null;
  dialog.replaceChildren(
    el('h2', { id: 'question' }, 'Keys'),
    el(
      'dl',
      {},
      ...keys.flatMap(([key, text]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, text)]),
    ),
    el('form', { method: 'dialog', class: 'controls' }, el('button', {}, 'Close')),
  );
  dialog.showModal();
}

/** @param {KeyboardEvent} event */
function key(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const isTyped = ['INPUT', 'SELECT', 'BUTTON'].includes(target.tagName);
  const isOpen = /** @type {HTMLDialogElement} */ (byId('dialog')).open;
  if (isOpen || event.ctrlKey || event.altKey || event.metaKey) return;
  const screen = event.key.length === 1 ? SCREENS[SCREEN_KEYS.indexOf(event.key)] : undefined;
  if (target.tagName === 'INPUT') return;
  if (screen) location.hash = screen.id;
  else if (event.key === '?') help();
  else if (event.key === ' ' && !isTyped) {
    event.preventDefault();
    freeze();
  } else if (page.hello?.scope === 'control') {
    const isOff = (page.shown?.snapshot.status?.recording?.on ?? 0) === 0;
    const order = event.key === 'R' ? (isOff ? 'on' : 'off') : STEER_KEYS[event.key];
    if (order) steer(page, order);
  }
}

async function main() {
  SCREENS.forEach(({ id, title }, at) =>
    byId('screens').append(el('a', { href: `#${id}` }, el('kbd', {}, SCREEN_KEYS[at]), title)),
  );
  const rates = choice('Snapshots', RATES, (value) => {
    intervalNs = Number(value);
    stream.abort();
  });
  byId('bar').append(
    rates.node,
    el('button', { type: 'button', click: help, 'aria-label': 'Keys' }, '?'),
  );
  const secret = location.hash.slice(1);
  if (/^[0-9a-f]{64}$/.test(secret)) {
    // Out of the address and its history before anything else.
    history.replaceState(null, '', '/#now');
    try {
      await server.enter(secret);
    } catch (error) {
      connect('out');
      return tell(told(error), true);
    }
  }
  addEventListener('hashchange', go);
  addEventListener('keydown', key);
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) stream.abort();
  });
  try {
    const { job } = (page.hello = await server.ask('hello'));
    say(
      byId('command'),
      job ? `${job.id}: ${job.ranks} ranks, ${job.library.split(',')[0].split('\n')[0]}` : '',
    );
    document.title = job ? `${job.id} \u00b7 Invivo` : 'Invivo';
  } catch {
    // The stream says why.
  }
  go();
  return follow();
}

main();
