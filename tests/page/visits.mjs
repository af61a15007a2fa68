// Visits of regions on the timeline: as many as `--json` has, and what is told where the pointer is.

import assert from 'node:assert/strict';
import { jsonLines, show, until } from './drive.mjs';

export async function run({ page, url }) {
  await page.goto(url);
  await show(page, 'timeline');
  await page
    .getByLabel('Look at', { exact: true })
    .selectOption({ label: 'all that the buffers keep' });
  const about = page.locator('#timeline-about');
  await until(
    'all visits',
    async () => /calls and [\d,]+ visits of regions of 2 locations/.test(await about.textContent()),
    () => about.textContent(),
  );
  const pieces = jsonLines('timeline', '--seconds', '86400').flatMap((one) => one.pieces);
  const rows = pieces.flatMap((piece) => piece.calls);
  const visits = rows.filter(({ facts }) => facts?.kind === 'region');
  assert(visits.length > 1_000, `${visits.length} visits`);
  const { calls, visits: shown } = await about.evaluate(({ dataset }) => ({ ...dataset }));
  assert.equal(shown, `${visits.length}`);
  assert.equal(calls, `${rows.length - visits.length}`);

  // Into a visit of the innermost function, by way of the call behind it.
  const canvas = page.locator('canvas[role=img]');
  await canvas.focus();
  const told = () => page.locator('.told').first().textContent();
  for (let step = 0; step < 100 && !(await told()).includes('MPI_Allreduce'); step += 1) {
    await page.keyboard.press('.');
  }
  assert((await told()).startsWith('rank 0: MPI_Allreduce'), await told());
  // The call in the middle, and some ms around it.
  await page.keyboard.press('Home');
  const span = async () => (await page.locator('p.dim').allTextContents()).join(' ');
  await until(
    'some ms',
    async () => {
      if (/\b[1-9](\.\d+)? ms from /.test(await span())) return true;
      await page.keyboard.press('+');
      return false;
    },
    span,
  );
  const box = await canvas.boundingBox();
  const inside = /^rank 0: in solve > .*outer.* > .*inner/;
  await until(
    'the regions around an inner one',
    async () => {
      for (let x = 0.02; x < 1; x += 0.02) {
        await page.mouse.move(box.x + box.width * x, box.y + 30);
        if (inside.test(await told())) return true;
      }
      return false;
    },
    async () => `${await told()} | ${await span()}`,
  );
}
