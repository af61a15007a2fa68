// Ranks by time. What is selected here is looked at more closely, and limits the ranks elsewhere.

import { choice, el, say, showNotes } from './dom.js';
import { Picture, Scale } from './picture.js';
import { block, counted, duration, share } from './units.js';
import { OF_CALLS, full, hasMetrics, mean, notKnown, offer, ofRank, shown } from './values.js';

/** @typedef {import('./answers').GridReply} Grid */

const TIMES = /** @type {[string, string][]} */ ([
  ['0', 'the whole run'],
  ['600000000000', 'the last ten minutes'],
  ['60000000000', 'the last minute'],
  ['10000000000', 'the last ten seconds'],
]);
/** The gateway gives no more. */
const [COLUMNS_MAX, ROWS_MAX] = [256, 128];
/** Between two questions at most, in ms. */
const PAUSE_MAX_MS = 10_000;

/** @type {import('./screen').Screen} */
export const time = {
  id: 'time',
  title: 'Ranks × time',
  make(page) {
    let metric = 'mpi';
    // Ranks are measured, and nothing has been read yet.
    let isAwaited = false;
    let last = 0;
    let isZoomed = false;
    /** @type {Grid | null} */
    let grid = null;
    let asked = 0;

    const metrics = choice('Show', OF_CALLS, (value) => {
      metric = value;
      page.renew();
    });
    const times = choice('of', TIMES, (value) => {
      last = Number(value);
      isZoomed = false;
      page.renew();
    });
    const zoom = el(
      'button',
      {
        type: 'button',
        click: () => {
          isZoomed = true;
          page.renew();
        },
      },
      'Only the selection',
    );
    const clear = el(
      'button',
      {
        type: 'button',
        click: () => {
          isZoomed = false;
          page.select(null);
          page.renew();
        },
      },
      'No selection',
    );
    const scale = new Scale();
    const picture = new Picture(
      'Ranks by time. Arrow keys tell about a cell, with shift they select, Enter takes it.',
      { selected: (area) => take(area) },
    );
    const axis = el('p', { class: 'dim' });
    const extremes = el('p');
    const notes = el('pre');
    const selected = el('section', { 'aria-label': 'Selection' });

    /** @param {Grid} of @param {number} column */
    const begin = (of, column) => Math.max(of.from_ns + column * of.width_ns, 0);

    /** @param {import('./picture').Area} area */
    function take(area) {
      if (!grid) return;
      const ranks = Math.max(grid.block_ranks, 1);
      const row = (/** @type {number} */ at) => grid?.rows[at]?.row ?? 0;
      page.select({
        from_ns: begin(grid, area.left),
        to_ns: begin(grid, area.right + 1),
        first_rank: row(area.top) * ranks,
        last_rank: Math.min((row(area.bottom) + 1) * ranks, grid.ranks) - 1,
      });
      page.renew();
    }

    /** @param {Grid} of */
    function draw(of) {
      const end = full(of);
      scale.show(shown(0, of), shown(end, of));
      picture.show({
        columns: of.columns,
        rows: of.rows.length,
        value(column, row) {
          const value = mean(of.rows[row].cells[column], of);
          return value === null ? null : value / end;
        },
        rowName: (row) => block(of.rows[row].row, Math.max(of.block_ranks, 1), of.ranks),
        ends: [duration(begin(of, 0)), duration(begin(of, of.columns))],
        told(column, row) {
          const cell = of.rows[row].cells[column];
          const ranks = block(of.rows[row].row, Math.max(of.block_ranks, 1), of.ranks);
          const when = `${duration(begin(of, column))} to ${duration(begin(of, column + 1))}`;
          const value = mean(cell, of);
          if (value === null) return `rank ${ranks}, ${when}: ${notKnown(of)}`;
          const of1 = (/** @type {number} */ value) => shown(ofRank(cell, value, of), of);
          const more =
            cell.ranks > 1
              ? `; most ${of1(cell.max)} (rank ${cell.max_rank}), least ` +
                `${of1(cell.min)} (rank ${cell.min_rank})`
              : '';
          return `rank ${ranks}, ${when}: ${shown(value, of)}${more}`;
        },
      });
      say(
        axis,
        `a column is ${duration(of.width_ns)}, a row ` +
          `${counted(Math.max(of.block_ranks, 1), 'rank')}; what was ${notKnown(of)} is not drawn`,
      );
      picture.canvas.dataset.grid = `${of.metric} ${of.width_ns}`;
      picture.canvas.dataset.sums = JSON.stringify(
        of.rows.map(({ cells }) => cells.map(({ sum }) => sum)),
      );
      const totals = of.rows.flatMap((row) =>
        row.total && row.total.recorded_ns > 0 ? [row.total] : [],
      );
      const ends = totals
        .flatMap((total) => [
          { value: ofRank(total, total.max, of), rank: total.max_rank },
          { value: ofRank(total, total.min, of), rank: total.min_rank },
        ])
        .sort((one, other) => other.value - one.value || one.rank - other.rank);
      const [first, final] = [ends[0], ends[ends.length - 1]];
      say(
        extremes,
        first
          ? `most: rank ${first.rank} with ${shown(first.value, of)}; least: rank ` +
              `${final.rank} with ${shown(final.value, of)}`
          : `what is here was ${notKnown(of)}`,
      );
      showNotes(notes, of);
    }

    /** @param {Grid | null} of the efficiencies of the selection */
    function drawSelection(of) {
      const { selection } = page;
      zoom.disabled = clear.disabled = !selection;
      if (!selection) {
        selected.replaceChildren(
          el(
            'p',
            { class: 'dim' },
            'Drag over cells, or use shift with the arrow keys, to look at a part.',
          ),
        );
        return;
      }
      const { from_ns, to_ns, first_rank, last_rank } = selection;
      const ranks =
        first_rank === last_rank ? `rank ${first_rank}` : `ranks ${first_rank} to ${last_rank}`;
      const efficiency = of?.efficiency;
      selected.replaceChildren(
        el('h2', {}, `Selected: ${ranks}, ${duration(from_ns)} to ${duration(to_ns)}`),
        el(
          'p',
          {},
          efficiency
            ? `In this time, of all ranks: parallel efficiency ` +
                `${share(efficiency.parallel_efficiency, 1)}, load balance ` +
                `${share(efficiency.load_balance, 1)}, communication efficiency ` +
                `${share(efficiency.communication_efficiency, 1)}; ` +
                `rank ${efficiency.max_rank} computes longest, ` +
                `rank ${efficiency.min_rank} shortest.`
            : 'Nothing was recorded in this time.',
        ),
        el(
          'p',
          { class: 'dim' },
          'Timeline, functions, profile, regions, matrix and wait states are of this time, as far as ' +
            'it is kept; tables by rank show these ranks only.',
        ),
      );
    }

    return {
      node: el(
        'div',
        {},
        el('div', { class: 'controls' }, metrics.node, times.node, scale.node, zoom, clear),
        picture.node,
        axis,
        extremes,
        notes,
        selected,
      ),
      async renew(isWanted) {
        // Nothing of a wide column is seen sooner.
        const pause = grid ? Math.min(grid.width_ns / 1e6 / 4, PAUSE_MAX_MS) : 0;
        if (!isWanted && performance.now() - asked < pause) return;
        asked = performance.now();
        const part =
          isZoomed && page.selection
            ? {
                from_ns: Math.round(page.selection.from_ns),
                to_ns: Math.round(page.selection.to_ns),
              }
            : { last_ns: last };
        const columns = Math.min(
          Math.max(Math.floor(picture.canvas.clientWidth / 5), 16),
          COLUMNS_MAX,
        );
        const { selection } = page;
        const [next, there, of] = await Promise.all([
          page.ask('heatmap', { metric, columns, rows: ROWS_MAX, ...part }),
          // Only where the reader is about to choose, or the first values are on their way.
          (isWanted || isAwaited) && hasMetrics(page) ? page.ask('metrics') : null,
          selection
            ? page.ask('efficiency', {
                from_ns: Math.round(selection.from_ns),
                to_ns: Math.round(selection.to_ns),
              })
            : null,
        ]);
        grid = next;
        if (there) {
          offer(metrics.select, there);
          /** @type {import('./answers').MetricsReply} */
          const { ranks_measured: measured, metrics: all } = there;
          isAwaited = measured > 0 && all.every((of) => of.ranks_kept === 0);
        }
        picture.canvas.dataset.columns = `${columns}`;
        draw(next);
        drawSelection(of);
      },
    };
  },
};
