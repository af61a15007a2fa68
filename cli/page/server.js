// The server of this page: the secret of the link, questions, orders, and the stream of snapshots.

/** Kept for this host and port alone; other tabs of this browser have it too. */
const KEY = 'invivo-key';

/** An answer that is none, and why. */
export class Refusal extends Error {
  /** @param {number} status @param {string} why */
  constructor(status, why) {
    super(why);
    this.status = status;
  }
}

/**
 * @param {string} path @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
async function request(path, options = {}) {
  const headers = { 'x-invivo-key': localStorage.getItem(KEY) ?? '' };
  const response = await fetch(path, { ...options, headers });
  if (response.ok) return response;
  const text = await response.text();
  let why = text;
  try {
    why = JSON.parse(text).error;
  } catch {
    // Not from our server: the text is what there is.
  }
  throw new Refusal(response.status, why);
}

/** @typedef {Record<string, string | number | boolean | undefined>} Words */

/** Words that are undefined are left out. @param {Words} words */
const query = (words) => {
  const given = Object.entries(words).filter(([, value]) => value !== undefined);
  return new URLSearchParams(given.map(([name, value]) => [name, `${value}`])).toString();
};

/** Comes in by a link's secret, which is good once. @param {string} secret */
export async function enter(secret) {
  const response = await request('/enter', { method: 'POST', body: secret });
  localStorage.setItem(KEY, (await response.json()).key);
}

/**
 * Asks; the answer is what `--json` prints.
 * @param {string} question @param {Words} [words]
 * @returns {Promise<any>}
 */
export async function ask(question, words = {}) {
  return (await request(`/ask/${question}?${query(words)}`)).json();
}

/**
 * Gives an order, and waits until every rank has acknowledged it.
 * @param {string} order @param {Words} [words]
 * @returns {Promise<{sentence: string, not_done: string[]}>}
 */
export async function give(order, words = {}) {
  return (await request(`/do/${order}?${query(words)}`, { method: 'POST' })).json();
}

/**
 * @typedef {object} Told what the terminal says of a snapshot
 * @property {string} observed
 * @property {string} states
 * @property {string | null} pause
 * @property {string} recording
 * @property {boolean} is_partly
 * @property {string | null} measured
 * @property {string | null} in_mpi
 * @property {string} calls
 * @property {string} lag
 * @property {string} losses
 * @property {string} own_cost
 * @property {string[]} governance how the overhead is kept below its cap
 * @property {string} coverage
 *
 * @typedef {{snapshot: import('./answers').Snapshot, told: Told}} Shown
 * @typedef {{snapshot?: Shown, away?: string, ended?: {}}} Line
 */

/**
 * Lines of the stream, until it ends or the signal comes.
 * @param {number} intervalNs @param {AbortSignal} signal
 * @returns {AsyncGenerator<Line>}
 */
export async function* lines(intervalNs, signal) {
  const response = await request(`/live?${query({ interval_ns: intervalNs })}`, { signal });
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) yield JSON.parse(part);
  }
}
