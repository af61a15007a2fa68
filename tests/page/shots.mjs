// Every screen of a real application, dark and light: something is on it, and it can be pictured.

import assert from 'node:assert/strict';
import path from 'node:path';
import { show, until } from './drive.mjs';

/** Words that a screen has when it shows something. */
const SCREENS = {
  now: 'parallel efficiency',
  time: 'most: rank',
  functions: 'MPI_Send',
  matrix: 'Pairs',
  waits: 'Wait at N x N',
  stuck: 'LAMMPS_NS',
  buffers: 'all else',
  control: 'waitstates',
};

export async function run({ page, url, known }) {
  await page.goto(url);
  await page.waitForFunction(() => document.querySelector('#bar-page').textContent === 'live');
  await until('a sentence', async () =>
    /efficiency/.test(await page.locator('.sentence').textContent()),
  );
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    for (const [screen, words] of Object.entries(SCREENS)) {
      await show(page, screen);
      if (screen === 'stuck') await page.locator('#ask-stacks').click();
      await until(`${words} on ${screen}`, async () =>
        (await page.locator('#screen').textContent()).includes(words),
      );
      const file = path.join(known.shots, `${screen}-${colorScheme}.png`);
      const picture = await page.screenshot({ path: file });
      assert(picture.length > 10_000, file);
    }
  }
}
