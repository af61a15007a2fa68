// Every number on every screen is what `--json` prints of the same job, which stands still.

import assert from 'node:assert/strict';
import { json, jsonLines, show, table, until } from './drive.mjs';

const of =
  (...fields) =>
  (row) =>
    fields.map((field) => `${typeof field === 'function' ? field(row) : row[field]}`);
/** How far times in a cell may be apart: each of its calls' ends is rounded. */
const ROUNDED_NS = 10;
const NUMBERS = [
  'calls',
  'time_ns',
  'time_ns',
  'mean_ns',
  'stddev_ns',
  'min_ns',
  'max_ns',
  'max_rank',
  'bytes_out',
  'bytes_in',
];

/** The same of all ranks, where the quantiles are known. */
const DISTRIBUTED = NUMBERS.flatMap((field) =>
  field === 'stddev_ns'
    ? [({ durations }) => durations.p50, ({ durations }) => durations.p99, field]
    : [field],
);

async function choose(page, label, value) {
  await page.evaluate(() => {
    delete document.body.dataset.renewed;
  });
  await page.getByLabel(label, { exact: true }).selectOption(value);
  await page.waitForFunction(() => document.body.dataset.renewed !== undefined);
}

/** The bars of a function hold all of its calls, and the bins that the terminal gives. */
async function histograms(page, { function: name, calls }) {
  await choose(page, 'Histogram of', name);
  const [{ durations, sizes }] = json('functions', '--histogram', name).rows;
  assert.equal(durations.count, calls);
  const drawn = { 'Durations, of all ranks': durations, 'Sizes, of all ranks': sizes };
  for (const [caption, { bins, count }] of Object.entries(drawn)) {
    const bars = (await table(page, caption)).map((row) => row.map(Number));
    assert.equal(
      bars.reduce((sum, [, , values]) => sum + values, 0),
      count,
    );
    for (const [from, below, values] of bars) {
      const within = bins.filter(({ least, most }) => from <= least && most < below);
      assert.equal(
        within.reduce((sum, bin) => sum + bin.count, 0),
        values,
      );
    }
  }
  await choose(page, 'Histogram of', '');
}

async function functions(page) {
  await show(page, 'functions');
  const expected = json('functions', '--per-rank', '--rows', '4096');
  assert(expected.rows.length > 5, 'a program of many functions');
  assert.deepEqual(
    await table(page, 'Functions'),
    expected.rows.map(of('function', ...DISTRIBUTED)),
  );
  await histograms(
    page,
    expected.rows.find(({ sizes }) => sizes),
  );
  await choose(page, 'Functions of', 'rank');
  assert.deepEqual(
    await table(page, 'Functions by rank'),
    expected.rank_rows.map(of('rank', 'function', ...NUMBERS)),
  );
  await choose(page, 'Functions of', 'site');
  const sites = json('functions', '--by', 'site');
  const shown = await table(page, 'Call sites');
  assert.deepEqual(
    shown.map((row) => row.slice(1)),
    sites.rows.map((row) => [row.calls.function, `${row.ranks}`, ...of(...DISTRIBUTED)(row.calls)]),
  );
  const places = sites.rows.map(({ functions: [first] }) => first?.line ?? '');
  assert(
    places.some((line) => /told_rounds\.c:\d+/.test(line)),
    `${places}`,
  );
  shown.forEach(([place], at) => assert(place.includes(places[at]), place));
  await choose(page, 'Functions of', 'all');
}

/** The program marks none; the terminal's words say what to do. */
async function regions(page) {
  await show(page, 'regions');
  assert.deepEqual(json('regions').rows, []);
  const text = await page.locator('#screen').innerText();
  assert(text.includes('no region has been entered yet: programs mark them'), text);
}

/** Loops, and the longest iteration of the main one in the timeline. */
async function iterations(page) {
  await show(page, 'iterations');
  const { rows } = json('iterations');
  assert(rows.length > 0, 'a program of loops');
  // Neither the share of the time, which goes on, nor points in time, which are known anew.
  const fields = of('iterations_max', 'mean_ns', 'stddev_ns', 'min_ns', 'max_ns', 'max_rank');
  const shown = await table(page, 'Loops of the program');
  assert.deepEqual(
    shown.map((row) => row.slice(3, 9)),
    rows.map(fields),
  );
  await page.getByRole('button', { name: 'Show the longest' }).click();
  await until('the timeline', () => page.evaluate(() => window.location.hash === '#timeline'));
  // Fewer than all that were shown before.
  const about = page.locator('#timeline-about');
  await until('its calls', async () => {
    const calls = Number(await about.getAttribute('data-calls'));
    return calls > 0 && calls < 5_000;
  });
}

async function matrix(page) {
  await show(page, 'matrix');
  const { cells } = json('matrix');
  const expected = cells.map(({ source, destination, sent, received }) =>
    [
      source,
      destination,
      sent?.messages ?? 0,
      sent?.bytes ?? 0,
      received?.messages ?? 0,
      received?.bytes ?? 0,
    ].map(String),
  );
  assert(expected.length >= 4, 'a program of messages');
  const sorted = (rows) => rows.map((row) => row.join()).sort();
  assert.deepEqual(sorted(await table(page, 'Pairs')), sorted(expected));
  const { matched } = json('messages');
  const text = await page.locator('pre.text').textContent();
  assert(text.replaceAll(',', '').includes(`${matched.messages}`), text);
}

async function waits(page) {
  await show(page, 'waits');
  const expected = json('waitstates', '--ranks', '256');
  assert(expected.rows.length > 2, 'a program of wait states');
  assert.deepEqual(
    await table(page, 'By wait state'),
    expected.rows.map(
      of('wait_state', 'function', 'time_ns', 'time_ns', 'waits', 'max_ns', 'max_rank'),
    ),
  );
  const ranks = await table(page, 'By rank: who');
  assert.deepEqual(
    ranks.map((row) => row.slice(0, 3)),
    expected.ranks.map(of('rank', 'waited_ns', 'caused_ns')),
  );
  const communicators = expected.communicators.flatMap(({ communicator, rows }) =>
    rows.map((row) => [
      communicator,
      ...of('wait_state', 'time_ns', 'time_ns', 'waits', 'max_ns', 'max_rank')(row),
    ]),
  );
  assert.deepEqual(await table(page, 'By communicator'), communicators);
}

async function time(page) {
  await show(page, 'time');
  const canvas = page.locator('canvas[role=img]');
  for (const metric of ['mpi', 'compute', 'calls', 'bytes']) {
    await choose(page, 'Show', metric);
    // Columns become wider with the run, which is longer now than a moment ago.
    const { shown, expected } = await until('the same columns', async () => {
      const { sums, columns, grid } = await canvas.evaluate(({ dataset }) => ({ ...dataset }));
      const expected = json('heatmap', '--metric', metric, '--columns', columns, '--rows', '128');
      return grid === `${metric} ${expected.width_ns}` && { shown: JSON.parse(sums), expected };
    });
    const all = expected.rows.map(({ cells }) => cells.map(({ sum }) => sum));
    assert.equal(shown.length, all.length, metric);
    assert(
      all.flat().some((sum) => sum > 0),
      metric,
    );
    all.forEach((row, at) =>
      row.forEach((sum, column) => {
        // Columns of nothing come while the job stands. Job time is read from a clock whose rate is
        // measured anew all the time, as whole ns.
        const seen = shown[at][column] ?? 0;
        assert(Math.abs(seen - sum) <= ROUNDED_NS, `${metric}: ${seen} of ${sum} in ${column}`);
      }),
    );
  }
  await choose(page, 'Show', 'mpi');
}

async function now(page) {
  await show(page, 'now');
  const { efficiency } = json('efficiency', '--since', '60s', '--columns', '60');
  for (const field of ['parallel_efficiency', 'load_balance', 'communication_efficiency']) {
    const shown = await page.locator(`#${field}`).getAttribute('data-value');
    assert(Math.abs(Number(shown) - efficiency[field]) < 1e-6, `${field}: ${shown}`);
  }
  const { status } = json('status');
  const rows = await table(page, 'Ranks, those');
  // How long a rank is in its state goes on.
  const fields = of('rank', 'state', 'function', 'entered');
  assert.deepEqual(
    rows.map((row) => row.toSpliced(3, 1).slice(0, 4)),
    status.named.map(fields),
  );
  // Of a call that is open, job time is read anew.
  rows.forEach((row, at) => assert(Math.abs(row[5] - status.named[at].mpi_ns) <= ROUNDED_NS, row));
  await until(
    'a sentence',
    async () => (await page.locator('.sentence').textContent()).length > 40,
  );
}

/** All calls that the buffers keep, the messages among them, and what is told of a call. */
async function timeline(page) {
  await show(page, 'timeline');
  const about = page.locator('#timeline-about');
  const before = await about.textContent();
  await page
    .getByLabel('Look at', { exact: true })
    .selectOption({ label: 'all that the buffers keep' });
  await until('all calls', async () => {
    const text = await about.textContent();
    return text !== before && /calls of 4 locations/.test(text);
  });
  const pieces = jsonLines('timeline', '--seconds', '86400').flatMap((page) => page.pieces);
  const calls = pieces.flatMap((piece) => piece.calls);
  assert(calls.length > 10_000, 'a program of many calls');
  const { dataset } = await about.evaluate(({ dataset }) => ({ dataset: { ...dataset } }));
  assert.equal(dataset.calls, `${calls.length}`);
  const { matched } = json('messages');
  assert.equal(dataset.messages, `${matched.messages}`);

  // The first receive of rank 0 and its sender.
  const first = pieces.find(({ location }) => location.rank === 0);
  const at = first.calls.findIndex(({ facts }) => facts.kind === 'receive');
  const { function: name, facts } = first.calls[at];
  await page.locator('canvas[role=img]').focus();
  for (let step = 0; step <= at; step += 1) await page.keyboard.press('.');
  const told = () => page.locator('.told').first().textContent();
  await until('the call', async () => (await told()).startsWith(`rank 0: ${name}, `));
  const text = await told();
  for (const words of [`tag ${facts.tag}`, 'received by rank 0'])
    assert(text.includes(words), text);
  await page.keyboard.press('m');
  await until('the other end', async () => /^rank [1-3]: /.test(await told()));
  assert((await told()).includes('received by rank 0'), await told());
}

async function buffers(page) {
  await show(page, 'buffers');
  const expected = json('buffers');
  for (const field of ['locations', 'bytes_used', 'kept', 'bytes_per_call']) {
    const shown = await page.locator(`#buffers-${field}`).getAttribute('data-value');
    assert.equal(shown, `${expected[field]}`, field);
  }
  const rows = await table(page, 'Buffers, the fullest');
  assert.deepEqual(
    rows.map((row) => row[2]),
    expected.named.map((of) => `${of.bytes_used}`),
  );
}

async function bar(page) {
  const status = json('status');
  const text = (name) => page.locator(`#bar-${name}`).textContent();
  assert.match(await text('application'), /^PAUSED/);
  assert.equal(await text('losses'), 'none');
  const { ranks, ranks_reporting: reporting } = status.coverage;
  assert.equal(await text('ranks'), `${reporting} of ${ranks}`);
  assert.equal(await text('scope'), 'control');
}

async function analyses(page) {
  await show(page, 'control');
  const expected = json('analyses').analyses;
  assert.deepEqual(
    await table(page, 'Analyses'),
    expected.map(of('name', 'on', 'off', 'cost_ns', 'answers')),
  );
}

export async function run({ page, url }) {
  await page.goto(url);
  await page.waitForFunction(() => document.querySelector('#bar-page').textContent === 'live');
  // The secret does not stay in the address.
  assert(!page.url().includes(url.split('#')[1]));
  for (const part of [
    bar,
    functions,
    regions,
    matrix,
    waits,
    time,
    timeline,
    buffers,
    analyses,
    now,
    iterations,
  ])
    await part(page);
}
