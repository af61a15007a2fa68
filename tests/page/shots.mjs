// Every screen of a real application, dark and light: something is on it, and it can be pictured.

import assert from 'node:assert/strict';
import path from 'node:path';
import { json, show, until } from './drive.mjs';

/** Words that a screen has when it shows something. */
const SCREENS = {
  now: 'parallel efficiency',
  time: 'most: rank',
  timeline: 'MPI_Send',
  functions: 'MPI_Send',
  profile: 'LAMMPS_NS',
  matrix: 'Pairs',
  waits: 'Wait at N x N',
  stuck: 'LAMMPS_NS',
  buffers: 'all else',
  control: 'waitstates',
};

/** To some messages. */
async function zoomIn(page) {
  await page.locator('#look').click();
  await page.waitForTimeout(1000);
  await page.locator('canvas[role=img]').focus();
  for (const key of ['Home', '.', '.', '.', '.', '.', ...Array(11).fill('+')]) {
    await page.keyboard.press(key);
  }
  await page.waitForTimeout(500);
}

export async function run({ page, url, known }) {
  await page.goto(url);
  await page.waitForFunction(() => document.querySelector('#bar-page').textContent === 'live');
  await until('a sentence', async () =>
    /efficiency/.test(await page.locator('.sentence').textContent()),
  );
  json('sampling', 'on');
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    for (const [screen, words] of Object.entries(SCREENS)) {
      await show(page, screen);
      if (screen === 'stuck') await page.locator('#ask-stacks').click();
      await until(`${words} on ${screen}`, async () =>
        (await page.locator('#screen').textContent()).includes(words),
      );
      if (screen === 'timeline') await zoomIn(page);
      const file = path.join(known.shots, `${screen}-${colorScheme}.png`);
      const picture = await page.screenshot({ path: file });
      assert(picture.length > 10_000, file);
    }
  }
}
