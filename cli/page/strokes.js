// How a timeline is drawn. What is drawn is bounded by the pixels: calls below one share it.

import { point } from './calls.js';
import { duration } from './units.js';

/** @typedef {import('./calls').Calls} Calls */
/** @typedef {{from: number, to: number}} Interval in ns */
/**
 * @typedef {object} Pen
 * @property {CanvasRenderingContext2D} context
 * @property {Interval} view what is seen
 * @property {number} width
 * @property {number} height
 * @property {number} row height of a row
 * @property {string} fore
 * @property {string} dim
 * @property {string} line
 * @property {(ns: number) => number} x
 * @property {(location: number) => number} y
 */

/** More lines than that hide the calls. */
export const LINES_MAX = 1500;
/** Room of a name in a call, and of a mark on the axis. */
const [NAME_PIXELS, MARK_PIXELS] = [44, 110];
/** A call that is not one of those that were found; the least of a pixel with some. */
const [FAINT, SHARED_MIN] = [0.15, 0.35];
/** Regions inside of each other that are told apart, and how opaque each is. */
const [DEPTH_SHOWN, REGION_SHADE] = [4, 0.3];
/** The part of a row in which samples are, and for how many of their intervals one stands. */
const [SAMPLES_PART, SAMPLE_STANDS] = [0.4, 1.5];

/** @param {Pen} pen @param {Calls} calls @param {number} location
 * @param {Set<number> | null} found calls that were found; without it all */
export function drawRow(pen, calls, location, found) {
  const { context, x, width, row, view } = pen;
  const of = calls.locations[location];
  const [y, high] = [pen.y(location) + 1, row - 2];
  const faint = (/** @type {number} */ call) => (found && !found.has(call) ? FAINT : 1);
  if (of.gone_until_ns !== null) {
    // Here the buffer keeps not all, or nothing.
    context.fillStyle = pen.dim;
    context.fillRect(0, y + high - 1, Math.min(Math.max(x(of.gone_until_ns), 0), width), 1);
  }
  drawVisits(pen, calls, location);
  drawSamples(pen, calls, location);
  // The pixel that short calls share: its begin, the time in calls, and the longest of them.
  let [pixel, busy, longest, best] = [-1, 0, 0, -1];
  const flush = () => {
    if (best >= 0) {
      context.globalAlpha = faint(best) * Math.min(1, Math.max(SHARED_MIN, busy));
      context.fillStyle = calls.colour(location, best);
      context.fillRect(pixel, y, 1, high);
    }
    [busy, longest, best] = [0, 0, -1];
  };
  for (let call = calls.from(location, view.from); of.begin_ns[call] <= view.to; call += 1) {
    const [left, right] = [x(of.begin_ns[call]), x(of.end_ns[call])];
    if (right - left < 1.5) {
      if (Math.floor(left) !== pixel) {
        flush();
        pixel = Math.floor(left);
      }
      busy += right - left;
      if (right - left > longest || best < 0 || found?.has(call)) {
        [longest, best] = [right - left, call];
      }
      continue;
    }
    const from = Math.max(left, -1);
    const size = Math.min(right, width + 1) - from;
    context.globalAlpha = faint(call);
    context.fillStyle = calls.colour(location, call);
    context.fillRect(from, y, size, high);
    if (size > NAME_PIXELS && row > 12) {
      drawName(context, calls.name({ location, call }), Math.max(from, 0), y, size, high);
    }
  }
  flush();
  context.globalAlpha = 1;
  if (of.open) {
    // It has not ended: thinner, up to the end of what is known.
    context.fillStyle = pen.dim;
    const [left, right] = [Math.max(x(of.open[1]), 0), Math.min(x(calls.answer.to_ns), width)];
    if (right > left) context.fillRect(left, y + high / 4, right - left, high / 2);
  }
}

/** Regions of the program lie below the calls, each inside the one around it.
 * @param {Pen} pen @param {Calls} calls @param {number} location */
function drawVisits(pen, calls, location) {
  const { context, x, width, row, view } = pen;
  const { region, begin_ns, end_ns, depth } = calls.locations[location].visits;
  const [y, high] = [pen.y(location) + 1, row - 2];
  /** Up to which pixel something is drawn of a depth: short visits share it. @type {number[]} */
  const drawn = [];
  region.forEach((at, visit) => {
    if (begin_ns[visit] > view.to || end_ns[visit] < view.from) return;
    const deep = Math.min(depth[visit], DEPTH_SHOWN);
    const from = Math.max(x(begin_ns[visit]), -1);
    const to = Math.min(Math.max(x(end_ns[visit]), Math.floor(from) + 1), width + 1);
    if (to <= (drawn[deep] ?? -1)) return;
    drawn[deep] = to;
    const top = y + (high * deep) / (DEPTH_SHOWN + 2);
    const rest = y + high - top;
    context.globalAlpha = REGION_SHADE;
    context.fillStyle = calls.colours[at];
    context.fillRect(from, top, to - from, rest);
    context.globalAlpha = 1;
    if (to - from > NAME_PIXELS && row > 12) {
      const name = calls.answer.functions[at];
      drawName(context, name, Math.max(from, 0), top, to - from, rest, pen.dim);
    }
  });
}

/** Where the thread was between its calls, at the foot of its row: each sample up to the next one,
 * but not for longer than samples are apart.
 * @param {Pen} pen @param {Calls} calls @param {number} location */
function drawSamples(pen, calls, location) {
  const { context, x, width, row, view } = pen;
  const { at_ns, function: functions } = calls.locations[location].samples;
  const high = Math.max((row - 2) * SAMPLES_PART, 2);
  const top = pen.y(location) + row - 1 - high;
  const most = SAMPLE_STANDS * calls.apart[location];
  // Neighbours in one function are one stroke, which has room for its name.
  let [begin, end, which] = [0, -Infinity, -1];
  let drawn = -1;
  const flush = () => {
    const from = Math.max(x(begin), drawn, -1);
    const to = Math.min(Math.max(x(end), Math.floor(from) + 1), width + 1);
    if (which < 0 || to <= from) return;
    drawn = to;
    context.fillStyle = calls.colours[which];
    context.fillRect(from, top, to - from, high);
    if (to - from > NAME_PIXELS && high > 8) {
      const name = calls.answer.functions[which];
      drawName(context, name, Math.max(from, 0), top, to - from, high);
    }
  };
  at_ns.forEach((at, sample) => {
    const until = Math.min(at_ns[sample + 1] ?? Infinity, at + most);
    if (at > view.to || until < view.from) return;
    if (functions[sample] !== which || at > end) {
      flush();
      [begin, which] = [at, functions[sample]];
    }
    end = until;
  });
  flush();
}

/** @param {CanvasRenderingContext2D} context @param {string} name @param {number} x
 * @param {number} y @param {number} width @param {number} height @param {string} colour */
function drawName(context, name, x, y, width, height, colour = '#000') {
  context.save();
  context.beginPath();
  context.rect(x, y, width - 3, height);
  context.clip();
  context.fillStyle = colour;
  context.font = '11px sans-serif';
  context.textBaseline = 'middle';
  context.fillText(name, x + 3, y + height / 2);
  context.restore();
}

/** Lines from the begin of each send to the end of its receive, where they are not too many.
 * @param {Pen} pen @param {Calls} calls @param {Set<number>} chosen thick, and always there
 * @returns {number} how many are in what is seen */
export function drawMessages(pen, calls, chosen) {
  const { context, x, y, row, view } = pen;
  /** @typedef {[number, number, number, number]} Line */
  /** @type {Line[]} */
  const thin = [];
  /** @type {Line[]} */
  const thick = [];
  let seen = 0;
  calls.answer.messages.forEach(([source, send, target, receive], message) => {
    const begin = calls.locations[source].begin_ns[send];
    const end = calls.locations[target].end_ns[receive];
    if (Math.max(begin, end) < view.from || Math.min(begin, end) > view.to) return;
    seen += 1;
    const isChosen = chosen.has(message);
    if (!isChosen && thin.length > LINES_MAX) return;
    const lines = isChosen ? thick : thin;
    lines.push([x(begin), y(source) + row / 2, x(end), y(target) + row / 2]);
  });
  context.strokeStyle = pen.fore;
  for (const [lines, width] of /** @type {[Line[], number][]} */ ([
    [thin.length > LINES_MAX ? [] : thin, 0.6],
    [thick, 2.5],
  ])) {
    context.lineWidth = width;
    context.beginPath();
    for (const [x1, y1, x2, y2] of lines) {
      context.moveTo(x1, y1);
      context.lineTo(x2, y2);
    }
    context.stroke();
  }
  return seen;
}

/** Around a call. @param {Pen} pen @param {number} location @param {Interval} interval */
export function drawFrame({ context, x, y, row, fore }, location, { from, to }) {
  context.strokeStyle = fore;
  context.lineWidth = 2;
  context.strokeRect(x(from), y(location), Math.max(x(to) - x(from), 2), row);
}

/** @param {Pen} pen @param {Interval} interval */
export function drawInterval({ context, x, height, fore }, { from, to }) {
  context.globalAlpha = 0.15;
  context.fillStyle = fore;
  context.fillRect(Math.min(x(from), x(to)), 0, Math.abs(x(to) - x(from)), height);
  context.globalAlpha = 1;
}

/** The first mark has its time, the others how much later they are. @param {Pen} pen */
export function drawAxis({ context, width, height, x, dim, line, view: { from, to } }) {
  const least = ((to - from) * MARK_PIXELS) / width;
  const ten = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  const step = [1, 2, 5].map((of) => of * ten).find((of) => of >= least) ?? 10 * ten;
  const first = Math.ceil(from / step) * step;
  context.font = '11px sans-serif';
  context.textBaseline = 'top';
  for (let at = first; at < to; at += step) {
    context.fillStyle = line;
    context.fillRect(x(at), 0, 1, height);
    context.fillStyle = dim;
    const text = at === first ? point(at) : `+${duration(at - first)}`;
    // The first text is longer than the room of a mark.
    if (at === first || x(at) - x(first) > 1.3 * MARK_PIXELS) context.fillText(text, x(at) + 3, 3);
  }
}
