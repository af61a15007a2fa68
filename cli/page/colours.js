// Colours for all eyes: a scale of them, and some that are told apart.

/** Colours that all eyes tell apart (Okabe and Ito), and one for all the rest. */
export const APART = [
  '#56b4e9',
  '#e69f00',
  '#009e73',
  '#cc79a7',
  '#d55e00',
  '#f0e442',
  '#0072b2',
  '#b0b0b0',
];

/** Their lightness grows alike (cividis: Nunez, Anderton and Renslow, PLOS ONE 13(7), 2018). */
const STOPS = [
  [0, 34, 78],
  [18, 53, 112],
  [59, 73, 108],
  [87, 93, 109],
  [112, 113, 115],
  [138, 134, 120],
  [165, 156, 116],
  [195, 179, 105],
  [225, 204, 85],
  [254, 232, 56],
];

/** The colour of a share of 0 to 1. @param {number} share @returns {[number, number, number]} */
export function colour(share) {
  const at = Math.min(Math.max(share, 0), 1) * (STOPS.length - 1);
  const low = Math.min(Math.floor(at), STOPS.length - 2);
  const mix = (/** @type {number} */ part) =>
    Math.round(STOPS[low][part] + (at - low) * (STOPS[low + 1][part] - STOPS[low][part]));
  return [mix(0), mix(1), mix(2)];
}
