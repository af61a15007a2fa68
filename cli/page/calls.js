// The calls of a timeline: found by time, by name and by message, and told in words.

import { APART as COLOURS } from './colours.js';
import { count, counted, duration, size } from './units.js';

/**
 * @typedef {object} Location columns have an entry for each call, in the order of their ends
 * @property {number} rank
 * @property {number} thread
 * @property {string} state
 * @property {[string | null, number] | null} open its current call, and since when
 * @property {number | null} gone_until_ns
 * @property {number} left_out
 * @property {number} in_flight
 * @property {number} dropped
 * @property {number} not_kept
 * @property {number[]} function places in `functions`; -1 is not known
 * @property {number[]} begin_ns
 * @property {number[]} end_ns
 * @property {number[]} peer
 * @property {number[]} tag
 * @property {number[]} comm
 * @property {number[]} bytes_out
 * @property {number[]} bytes_in
 * @property {number[]} parts
 * @property {Visits} visits
 * @property {Samples} samples
 *
 * @typedef {object} Visits of regions of the program, in the order of their begins, the outer ones
 * first; a column has an entry for each
 * @property {number[]} region places in `functions`
 * @property {number[]} begin_ns
 * @property {number[]} end_ns
 * @property {number[]} depth regions around it
 *
 * @typedef {object} Samples in the order of time; a column has an entry for each
 * @property {number[]} at_ns
 * @property {number[]} function places in `functions`; -1 is not known
 * @property {number[]} path places in `functions`: with its callers, joined by semicolons
 *
 * @typedef {object} Answer
 * @property {number} from_ns
 * @property {number} to_ns
 * @property {number} ranks
 * @property {number} clock_error_ns
 * @property {number[]} missing
 * @property {string[]} functions
 * @property {Location[]} locations
 * @property {[number, number, number, number][]} messages location and call of send and receive
 *
 * @typedef {{location: number, call: number}} Place
 */

/** The middle one of what lies between times, in ns; 0 without any. @param {number[]} times */
function median(times) {
  const apart = times.slice(1).map((at, before) => at - times[before]);
  apart.sort((one, other) => one - other);
  return apart[apart.length >> 1] ?? 0;
}

/** Beyond any number of calls. */
const FAR = 2 ** 24;
const UNITS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

export class Calls {
  /** @param {Answer} answer */
  constructor(answer) {
    this.answer = answer;
    this.locations = answer.locations;
    const times = answer.functions.map((_, at) => ({ at, ns: 0, isCalled: false }));
    /** How long a sample stands for, as a rule: half of them are no further apart. @type {number[]} */
    this.apart = this.locations.map(({ samples }) => median(samples.at_ns));
    for (const [place, of] of this.locations.entries()) {
      const { function: functions, begin_ns, end_ns, visits, samples } = of;
      functions.forEach((at, call) => {
        if (at < 0) return;
        times[at].ns += end_ns[call] - begin_ns[call];
        times[at].isCalled = true;
      });
      visits.region.forEach((at, visit) => {
        times[at].ns += visits.end_ns[visit] - visits.begin_ns[visit];
      });
      for (const at of samples.function) if (at >= 0) times[at].ns += this.apart[place];
    }
    // Calls first: regions contain them, and lie below.
    times.sort((one, other) => Number(other.isCalled) - Number(one.isCalled) || other.ns - one.ns);
    /** Those with the most time have a colour of their own. @type {string[]} */
    this.colours = [];
    times.forEach(({ at }, place) => {
      this.colours[at] = COLOURS[Math.min(place, COLOURS.length - 1)];
    });
    /** Messages of a call. @type {Map<number, number[]>} */
    this.messages = new Map();
    answer.messages.forEach(([from, send, to, receive], message) => {
      this.note(from, send, message);
      this.note(to, receive, message);
    });
  }

  /** @param {number} location @param {number} call @param {number} message */
  note(location, call, message) {
    const key = location * FAR + call;
    const known = this.messages.get(key);
    if (known) known.push(message);
    else this.messages.set(key, [message]);
  }

  /** @param {Place} place */
  messagesOf({ location, call }) {
    return this.messages.get(location * FAR + call) ?? [];
  }

  /** Visits of regions of all locations. */
  visits() {
    return this.locations.reduce((sum, { visits }) => sum + visits.region.length, 0);
  }

  /** The regions that a location is in at a time, in words. @param {number} location
   * @param {number} ns */
  regionsAt(location, ns) {
    const { region, begin_ns, end_ns } = this.locations[location].visits;
    const inside = region.filter((_, at) => begin_ns[at] <= ns && ns < end_ns[at]);
    if (!inside.length) return '';
    return `rank ${this.rankName(location)}: in ${inside
      .map((at) => this.answer.functions[at])
      .join(' > ')}`;
  }

  /** Samples of all locations. */
  samples() {
    return this.locations.reduce((sum, { samples }) => sum + samples.at_ns.length, 0);
  }

  /** Where a location was sampled at a time, in words. @param {number} location
   * @param {number} ns */
  sampledAt(location, ns) {
    const { at_ns, path } = this.locations[location].samples;
    const behind = at_ns.findIndex((at) => at > ns);
    const at = (behind < 0 ? at_ns.length : behind) - 1;
    if (at < 0 || ns - at_ns[at] > 2 * this.apart[location] || path[at] < 0) return '';
    const functions = this.answer.functions[path[at]].split(';');
    return `rank ${this.rankName(location)}: sampled in ${functions.join(' > ')}`;
  }

  /** Calls of all locations. */
  count() {
    return this.locations.reduce((sum, { end_ns }) => sum + end_ns.length, 0);
  }

  /** @param {Place} place */
  name({ location, call }) {
    const at = this.locations[location].function[call];
    return at < 0 ? 'the end of a call' : this.answer.functions[at];
  }

  /** @param {number} location @param {number} call */
  colour(location, call) {
    return this.colours[this.locations[location].function[call]] ?? COLOURS[COLOURS.length - 1];
  }

  /** The first call of a location that ends at a time or later. @param {number} location
   * @param {number} ns */
  from(location, ns) {
    const { end_ns } = this.locations[location];
    let [low, high] = [0, end_ns.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (end_ns[middle] < ns) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The longest call of a location between two times. @param {number} location
   * @param {number} from @param {number} to @returns {Place | null} */
  at(location, from, to) {
    const { begin_ns, end_ns } = this.locations[location];
    let best = -1;
    for (let call = this.from(location, from); begin_ns[call] <= to; call += 1) {
      if (best < 0 || end_ns[call] - begin_ns[call] > end_ns[best] - begin_ns[best]) best = call;
    }
    return best < 0 ? null : { location, call: best };
  }

  /** The call of a location that is nearest to a time. @param {number} location
   * @param {number} ns @returns {Place | null} */
  near(location, ns) {
    const { begin_ns, end_ns } = this.locations[location];
    const call = this.from(location, ns);
    const isBefore =
      call > 0 && (call === end_ns.length || ns - end_ns[call - 1] < begin_ns[call] - ns);
    const nearest = isBefore ? call - 1 : call;
    return nearest < end_ns.length ? { location, call: nearest } : null;
  }

  /** Where the other end of a call's first message is. @param {Place} place
   * @returns {Place | null} */
  otherEnd(place) {
    const [message] = this.messagesOf(place);
    if (message === undefined) return null;
    const [from, send, to, receive] = this.answer.messages[message];
    const isSend = from === place.location && send === place.call;
    return isSend ? { location: to, call: receive } : { location: from, call: send };
  }

  /**
   * Calls that words describe, in the order of their begins: a part of a function's name, `>1ms`
   * for those that take longer.
   * @param {string} text @returns {Place[]}
   */
  search(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    const longer = words.map((word) => /^>([\d.]+)(ns|us|ms|s)$/.exec(word));
    const names = words.filter((_, at) => !longer[at]);
    const least = longer.reduce(
      (max, found) =>
        found
          ? Math.max(max, Number(found[1]) * UNITS[/** @type {keyof UNITS} */ (found[2])])
          : max,
      -1,
    );
    const fits = this.answer.functions.map((name) =>
      names.every((word) => name.toLowerCase().includes(word)),
    );
    /** @type {Place[]} */
    const found = [];
    this.locations.forEach(({ function: functions, begin_ns, end_ns }, location) => {
      functions.forEach((at, call) => {
        const isNamed = at < 0 ? names.length === 0 : fits[at];
        if (isNamed && end_ns[call] - begin_ns[call] > least) found.push({ location, call });
      });
    });
    const begin = (/** @type {Place} */ { location, call }) =>
      this.locations[location].begin_ns[call];
    return found.sort((one, other) => begin(one) - begin(other));
  }

  /** @param {number} location */
  rankName(location) {
    const { rank, thread } = this.locations[location];
    return thread ? `${rank}.${thread}` : `${rank}`;
  }

  /** A call in words. @param {Place} place */
  told(place) {
    const { location, call } = place;
    const of = this.locations[location];
    const [begin, end] = [of.begin_ns[call], of.end_ns[call]];
    const facts = [
      `rank ${this.rankName(location)}: ${this.name(place)}, ${duration(end - begin)}`,
      `from ${point(begin)} to ${point(end)}`,
    ];
    if (of.peer[call] >= 0) facts.push(`peer rank ${of.peer[call]}, tag ${of.tag[call]}`);
    if (of.comm[call] >= 0) {
      facts.push(of.comm[call] === 0 ? 'MPI_COMM_WORLD' : `communicator ${of.comm[call]}`);
    }
    if (of.bytes_out[call]) facts.push(`${size(of.bytes_out[call])} out`);
    if (of.bytes_in[call]) facts.push(`${size(of.bytes_in[call])} in`);
    if (of.parts[call]) facts.push(counted(of.parts[call], 'request') + ' completed or posted');
    const messages = this.messagesOf(place)
      .slice(0, 1)
      .map((message) => this.message(message));
    const more = this.messagesOf(place).length - messages.length;
    if (more > 0) messages.push(`and ${counted(more, 'message')} more`);
    return [facts.join(', '), ...messages].join('; ');
  }

  /** @param {number} message */
  message(message) {
    const [from, send, to, receive] = this.answer.messages[message];
    const [begin, end] = [this.locations[from].begin_ns[send], this.locations[to].end_ns[receive]];
    return (
      `sent by rank ${this.rankName(from)} in ${this.name({ location: from, call: send })}, ` +
      `received by rank ${this.rankName(to)} in ${this.name({ location: to, call: receive })}, ` +
      `${duration(end - begin)} from begin to end`
    );
  }

  /** What is missing, a line each. */
  missing() {
    const sum = (/** @type {(of: Location) => number} */ of) =>
      this.locations.reduce((all, location) => all + of(location), 0);
    const { missing } = this.answer;
    return [
      [sum((of) => of.left_out), 'older calls of this time are left out: take a shorter one'],
      [sum((of) => of.in_flight), 'calls had not been read yet'],
      [sum((of) => of.dropped), 'calls of the run have no record'],
      [sum((of) => of.not_kept), 'calls found no buffer'],
      [missing.length, `tool processes did not answer (${missing.join(', ')}): their ranks lack`],
    ]
      .filter(([number]) => Number(number) > 0)
      .map(([number, text]) => `${count(Number(number))} ${text}`);
  }
}

/** A point in time to the ns, with its digits in groups. @param {number} ns */
export function point(ns) {
  const [sign, all] = [ns < 0 ? '-' : '', Math.abs(Math.round(ns))];
  const parts = `${all % 1e9}`.padStart(9, '0').match(/\d{3}/g) ?? [];
  return `${sign}${count(Math.floor(all / 1e9))}.${parts.join(' ')} s`;
}
