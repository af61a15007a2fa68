// Keys, selection, freezing, hiding, hangs and stacks; and what axe finds, dark and light.

import assert from 'node:assert/strict';
import { axe, json, show, table, until } from './drive.mjs';

const SCREENS = [
  'now',
  'time',
  'timeline',
  'functions',
  'profile',
  'matrix',
  'waits',
  'stuck',
  'buffers',
  'control',
];
const text = (page, id) => page.locator(`#${id}`).textContent();

async function keys(page) {
  for (const [at, screen] of SCREENS.entries()) {
    await page.keyboard.press(`${(at + 1) % 10}`);
    await until(
      screen,
      async () => (await page.locator('nav a[aria-current]').getAttribute('href')) === `#${screen}`,
    );
  }
  // They came later and took none of their keys.
  for (const [key, screen] of [
    ['r', 'regions'],
    ['i', 'iterations'],
  ]) {
    await page.keyboard.press(key);
    await until(
      screen,
      async () => (await page.locator('nav a[aria-current]').getAttribute('href')) === `#${screen}`,
    );
  }
  await page.keyboard.press('?');
  assert(await page.locator('dialog').isVisible());
  await page.keyboard.press('Escape');
  assert(!(await page.locator('dialog').isVisible()));
}

/** A selection is told on its screen and in the bar, and limits the tables by rank. */
async function selects(page) {
  await show(page, 'time');
  const canvas = page.locator('canvas[role=img]');
  await until('a picture', () => canvas.evaluate(({ dataset }) => dataset.sums !== undefined));
  await canvas.focus();
  await page.keyboard.press('ArrowDown');
  await until('what is told', async () =>
    /^rank \d+, .* to .*: /.test(await page.locator('.told').textContent()),
  );
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.3);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + box.height * 0.6);
  await page.mouse.up();
  await until('the selection', async () =>
    (await page.locator('section[aria-label=Selection]').textContent()).includes(
      'parallel efficiency',
    ),
  );
  const chosen = page.locator('#bar button', { hasText: 'selected: ranks 1 to 2' });
  assert(await chosen.isVisible());

  await show(page, 'timeline');
  const about = page.locator('#timeline-about');
  await until('its calls', async () => /calls of 2 locations/.test(await about.textContent()));

  await tablesOfTheSelection(page);
  await page.getByLabel('Functions of').selectOption('rank');
  const ranks = async () =>
    [...new Set((await table(page, 'Functions by rank')).map(([rank]) => rank))].sort().join();
  await until('two ranks', async () => (await ranks()) === '1,2');
  await chosen.click();
  await until('all ranks', async () => (await ranks()) === '0,1,2,3');
}

/** What the screens tell is what the commands tell of the same time, which is over. */
async function tablesOfTheSelection(page) {
  const screens = [
    ['waits', 'waitstates', 'By wait state', ['waitstates']],
    ['matrix', 'matrix', 'Pairs', ['matrix']],
    ['functions', 'functions', 'Functions', ['functions']],
  ];
  for (const [screen, question, title, words] of screens) {
    const about = (request) => {
      const { pathname, searchParams } = new URL(request.url());
      return pathname.endsWith(`/${question}`) && searchParams.has('from_ns');
    };
    const [request] = await Promise.all([page.waitForRequest(about), show(page, screen)]);
    const { searchParams } = new URL(request.url());
    const [from, to] = ['from_ns', 'to_ns'].map((word) => Number(searchParams.get(word)) / 1e6);
    const told = json(...words, '--interval', `${from}ms..${to}ms`);
    assert(told.interval.to_ns - told.interval.from_ns > 0);
    const counts = {
      waits: () => told.rows.map(({ waits }) => waits),
      functions: () => told.rows.map(({ calls }) => calls),
      matrix: () => told.cells.map(({ sent }) => sent.messages),
    }[screen]();
    const column = { waits: 4, functions: 1, matrix: 2 }[screen];
    const shown = async () => (await table(page, title)).map((row) => Number(row[column]));
    const sorted = (numbers) => [...numbers].sort((a, b) => a - b).join();
    await until(`${screen} of the selected time`, async () => {
      // Of the matrix only pairs with a selected rank are listed.
      const numbers = await shown();
      return screen === 'matrix'
        ? numbers.length > 0 && numbers.every((number) => counts.includes(number))
        : sorted(numbers) === sorted(counts);
    });
    assert(/of the selected time, from/.test(await page.locator('#screen').textContent()));
  }
}

/** Searching, zooming and measuring; the pointer does what keys do. */
async function looksClosely(page) {
  await show(page, 'timeline');
  await page.getByLabel('Look at', { exact: true }).selectOption({ label: 'the last second' });
  const about = page.locator('#timeline-about');
  await until('all ranks', async () => /calls of 4 locations/.test(await about.textContent()));
  const canvas = page.locator('canvas[role=img]');
  const shown = () => page.locator('.picture + p').textContent();
  // What is below the picture follows it with the next frame.
  const frames = () =>
    page.evaluate(async () => {
      for (let frame = 0; frame < 3; frame += 1) {
        await new Promise((done) => {
          requestAnimationFrame(done);
        });
      }
    });
  await canvas.focus();
  await page.keyboard.press('Home');
  await frames();
  const whole = await shown();
  assert.match(whole, / from \d+\.\d/);
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.51, box.y + 40);
  await page.mouse.up();
  await until('closer', async () => (await shown()) !== whole);

  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + box.width * 0.2, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 40);
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await until('a length', async () =>
    /^measured: /.test(await page.locator('.ruled').textContent()),
  );

  await page.locator('#search').fill('wait >0ns');
  await page.locator('#search').press('Enter');
  await until(
    'a call that was found',
    async () =>
      /^rank \d: MPI_Wait(all|any|some)?, /.test(await page.locator('.told').first().textContent()),
    () => page.locator('#screen').textContent(),
  );
  await page.locator('#search').fill('');
  await canvas.focus();
  await page.keyboard.press('Home');
  await until(
    'all of it',
    async () => (await shown()) === whole,
    async () => `${await shown()} and not ${whole}`,
  );
}

/** The screen stands still; the bar does not say that it is live. */
async function freezes(page) {
  await show(page, 'now');
  await page.locator('#screen').focus();
  await page.keyboard.press('Space');
  await until('frozen', async () => (await text(page, 'bar-page')).startsWith('frozen'));
  const before = await table(page, 'Ranks, those');
  await page.waitForTimeout(2500);
  assert.deepEqual(await table(page, 'Ranks, those'), before);
  await page.keyboard.press('Space');
  await until('live', async () => (await text(page, 'bar-page')) === 'live');
  await until(
    'it moves',
    async () => JSON.stringify(await table(page, 'Ranks, those')) !== JSON.stringify(before),
  );
}

/** A tab that nobody sees asks nothing. */
async function hides(page, requests) {
  const hide = (state) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }, state);
  await hide(true);
  await until('hidden', async () => (await text(page, 'bar-page')) === 'hidden');
  await page.waitForTimeout(500);
  const before = requests.length;
  await page.waitForTimeout(3000);
  assert.equal(requests.length, before);
  await hide(false);
  await until('live', async () => (await text(page, 'bar-page')) === 'live');
}

async function stuck(page) {
  await show(page, 'stuck');
  await page.locator('#ask-stacks').click();
  await until('call paths', async () =>
    (await page.locator('pre.text').textContent()).includes('main'),
  );
  await page.locator('#ask-hang').click();
  await until(
    'hangs',
    async () => !(await page.locator('pre.text').textContent()).includes('main ('),
  );
}

async function isForAll(page) {
  await page.evaluate(axe());
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    for (const screen of [...SCREENS, 'regions', 'iterations']) {
      await show(page, screen);
      const { violations } = await page.evaluate(() => window.axe.run());
      const told = violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`,
      );
      assert.deepEqual(told, [], `${screen}, ${colorScheme}`);
    }
  }
}

export async function run({ page, url, requests }) {
  await page.goto(url);
  await page.waitForFunction(() => document.querySelector('#bar-page').textContent === 'live');
  await keys(page);
  await selects(page);
  await looksClosely(page);
  await freezes(page);
  await hides(page, requests);
  await stuck(page);
  await isForAll(page);
}
