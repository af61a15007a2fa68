// A small curve of a number over time.

const SVG = 'http://www.w3.org/2000/svg';

/** A line of values from 0 to 1, with gaps where there is none. */
export class Curve {
  /** @param {string} label what is read aloud */
  constructor(label) {
    this.node = document.createElementNS(SVG, 'svg');
    this.node.setAttribute('class', 'curve');
    this.node.setAttribute('viewBox', '0 0 100 100');
    this.node.setAttribute('preserveAspectRatio', 'none');
    this.node.setAttribute('role', 'img');
    this.node.setAttribute('aria-label', label);
    for (const y of [0, 100]) {
      const line = document.createElementNS(SVG, 'line');
      for (const [name, value] of Object.entries({ x1: 0, x2: 100, y1: y, y2: y })) {
        line.setAttribute(name, `${value}`);
      }
      this.node.append(line);
    }
    this.path = document.createElementNS(SVG, 'path');
    this.node.append(this.path);
  }

  /** @param {(number | null)[]} values */
  show(values) {
    let isPen = false;
    const parts = values.map((value, at) => {
      const x = (100 * (at + 0.5)) / values.length;
      const part =
        value === null
          ? ''
          : `${isPen ? 'L' : 'M'}${x.toFixed(2)} ${(100 - 100 * value).toFixed(2)}`;
      // One point alone is seen as well.
      const alone = value !== null && !isPen ? 'h.1' : '';
      isPen = value !== null;
      return part + alone;
    });
    this.path.setAttribute('d', parts.join(''));
  }
}
