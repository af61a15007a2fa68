// Numbers with their units, as the terminal shows them.

/** @param {number} value @param {string} unit */
function scaled(value, unit) {
  // Below what would round up to another digit: 9.996 is 10.0, not 10.00.
  const digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return `${value.toFixed(digits)} ${unit}`;
}

/** A duration: three significant digits below a minute, whole units above. @param {number} ns */
export function duration(ns) {
  if (ns > 0 && ns < 10 && !Number.isInteger(ns)) return `${ns.toFixed(1)} ns`;
  ns = Math.round(Math.max(ns, 0));
  if (ns === 0) return '0 s';
  if (ns < 1e3) return `${ns} ns`;
  if (ns < 1e6) return scaled(ns / 1e3, 'us');
  if (ns < 1e9) return scaled(ns / 1e6, 'ms');
  if (ns < 60e9) return scaled(ns / 1e9, 's');
  const seconds = Math.floor(ns / 1e9);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${seconds % 60} s`;
}

/** A size, in powers of 1024. @param {number} bytes */
export function size(bytes) {
  if (bytes < 1024) return `${Math.round(bytes)} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  const at = Math.min(Math.floor(Math.log2(bytes) / 10), units.length) - 1;
  return scaled(bytes / 1024 ** (at + 1), units[at]);
}

/** A count, its digits in groups of three. @param {number} number */
export function count(number) {
  return Math.round(number)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ',');
}

/** @param {number} number @param {string} noun */
export function counted(number, noun) {
  return number === 1 ? `1 ${noun}` : `${count(number)} ${noun}s`;
}

/** A share in per cent; of nothing, `-`. @param {number} part @param {number} whole */
export function share(part, whole) {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : '-';
}

/**
 * The ranks of a row or column: `3`, or `8-15` where some share it.
 * @param {number} block @param {number} blockRanks @param {number} ranks
 */
export function block(block, blockRanks, ranks) {
  const first = block * blockRanks;
  const last = Math.min(first + blockRanks, ranks) - 1;
  return first >= last ? `${first}` : `${first}-${last}`;
}
