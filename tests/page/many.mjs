// A job of many ranks: every screen shows it, ten times a second, for as many bytes and elements as
// one of few, and memory does not grow. What was measured goes into a file.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { show, until } from './drive.mjs';

const SCREENS = ['now', 'time', 'functions', 'matrix', 'waits', 'buffers', 'control'];
/** On each screen, in ms. */
const STAY = 3000;

/** Bytes that used objects take. */
async function heap(session) {
  await session.send('HeapProfiler.collectGarbage');
  return (await session.send('Runtime.getHeapUsage')).usedSize;
}

export async function run({ context, page, url, known }) {
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  // Of the stream of snapshots, and of each answer.
  let live = 0;
  const answers = new Map();
  session.on('Network.requestWillBeSent', ({ requestId, request }) => {
    if (new URL(request.url).pathname.startsWith('/ask/')) answers.set(requestId, 0);
  });
  session.on('Network.dataReceived', ({ requestId, dataLength }) => {
    const before = answers.get(requestId);
    if (before === undefined) live += dataLength;
    else answers.set(requestId, before + dataLength);
  });
  await page.goto(url);
  await until('live', async () => (await page.locator('#bar-page').textContent()) === 'live');
  const [paint] = await page.evaluate(() =>
    performance.getEntriesByType('paint').map(({ startTime }) => startTime),
  );
  const ranks = await page.locator('#bar-ranks').textContent();
  assert.equal(ranks, `${known.ranks} of ${known.ranks}`);
  await page.getByLabel('Snapshots').selectOption('100000000');
  await page.evaluate(() => {
    window.seen = 0;
    const count = () => {
      window.seen += 1;
    };
    const options = { attributeFilter: ['data-sequence'] };
    new MutationObserver(count).observe(document.body, options);
  });

  const screens = {};
  let snapshots = 0;
  for (const screen of SCREENS) {
    answers.clear();
    await show(page, screen);
    await page.evaluate(() => {
      window.seen = 0;
    });
    live = 0;
    await page.waitForTimeout(STAY);
    const seen = await page.evaluate(() => window.seen);
    const elements = await page.evaluate(() => document.querySelectorAll('*').length);
    assert(seen > 0, `${screen}: no snapshot in ${STAY} ms`);
    const answer = Math.max(0, ...answers.values());
    screens[screen] = { seen, elements, answer, live };
    snapshots += seen;
  }

  await show(page, 'now');
  const before = await heap(session);
  await page.waitForTimeout(known.seconds * 1000);
  const after = await heap(session);
  const bytes = Object.values(screens).reduce((sum, { live }) => sum + live, 0) / snapshots;
  const measured = {
    paint_ms: paint,
    stay_ms: STAY,
    snapshot_bytes: bytes,
    screens,
    before,
    after,
  };
  writeFileSync(known.measured, JSON.stringify(measured));
}
