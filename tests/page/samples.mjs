// Samples on the timeline: as many as `--json` has, and what is told where the pointer is.

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
    'all samples',
    async () => /calls and [\d,]+ samples of 2 locations/.test(await about.textContent()),
    () => about.textContent(),
  );
  const pieces = jsonLines('timeline', '--seconds', '86400').flatMap((one) => one.pieces);
  const samples = pieces.flatMap((piece) => piece.samples);
  assert(samples.length > 1_000, `${samples.length} samples`);
  const { samples: shown } = await about.evaluate(({ dataset }) => ({ ...dataset }));
  assert.equal(shown, `${samples.length}`);

  // Between the calls is where the program computes.
  const canvas = page.locator('canvas[role=img]');
  await canvas.focus();
  const told = () => page.locator('.told').first().textContent();
  const box = await canvas.boundingBox();
  const inside = /^rank 0: sampled in .*main.* > step > heavy > kernel/;
  await until(
    'the path of a sample',
    async () => {
      for (let x = 0.02; x < 1; x += 0.02) {
        await page.mouse.move(box.x + box.width * x, box.y + 30);
        if (inside.test(await told())) return true;
      }
      await page.keyboard.press('+');
      return false;
    },
    told,
  );
}
