// Drives the page in a browser: `node drive.mjs PART URL KNOWN.json`. Ends with status 0 where all
// holds. INVIVO and the environment of the client name the job, PAGE_TOOLS where npm has put what
// is needed.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(path.join(process.env.PAGE_TOOLS, 'package.json'));
const { chromium } = require('playwright-core');

/** The longest wait for something on the page. */
export const WITHIN = 30_000;

/** What `invivo WORDS --json` prints of the same job. */
export function json(...words) {
  const text = execFileSync(process.env.INVIVO, [...words, '--json'], { encoding: 'utf8' });
  return JSON.parse(text);
}

/** The same of a command that prints several. */
export function jsonLines(...words) {
  const text = execFileSync(process.env.INVIVO, [...words, '--json'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** Waits until something holds, and gives what it returned; else says what is seen. */
export async function until(what, holds, seen) {
  const end = Date.now() + WITHIN;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > end) {
      throw new Error(`it did not come: ${what}; ${await seen?.()}`);
    }
    await new Promise((done) => {
      setTimeout(done, 100);
    });
  }
}

/** The script that looks for what keeps people out. */
export const axe = () => readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Goes to a screen, and waits until it has asked and shown. */
export async function show(page, screen) {
  await page.evaluate((id) => {
    delete document.body.dataset.renewed;
    location.hash = id;
  }, screen);
  if (screen === 'timeline') {
    await page.waitForFunction(
      () => document.querySelector('#timeline-about')?.dataset.calls,
      null,
      {
        timeout: WITHIN,
      },
    );
  } else if (screen !== 'stuck') {
    await page.waitForFunction(() => document.body.dataset.renewed !== undefined, null, {
      timeout: WITHIN,
    });
  }
}

/** The table below a caption: for each row the values that stand beside what is shown. */
export function table(page, caption) {
  return page.evaluate((start) => {
    const captions = [...document.querySelectorAll('caption')];
    const found = captions.find(({ textContent }) => textContent.startsWith(start));
    const rows = [...found.closest('table').tBodies[0].rows];
    return rows.map((row) => [...row.cells].map((cell) => cell.dataset.value));
  }, caption);
}

/** A browser with a page; everything that goes wrong in it fails the test. */
export async function open(options = {}) {
  const browser = await chromium.launch({
    executablePath: process.env.BROWSER,
    // The tests run as root, for whom Chromium has no sandbox.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  const page = await context.newPage();
  const wrong = [];
  const requests = [];
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // A refusal and a connection that broke are told on the page, and the browser's own words too.
    const isOurs = !message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && isOurs) wrong.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => requests.push(request.url()));
  return { browser, context, page, wrong, requests };
}

async function main() {
  const [part, url, known] = process.argv.slice(2);
  const { run } = await import(`./${part}.mjs`);
  const it = await open();
  try {
    await run({ ...it, url, known: JSON.parse(readFileSync(known, 'utf8')) });
    const origin = new URL(url).origin;
    const foreign = it.requests.filter((request) => new URL(request).origin !== origin);
    if (foreign.length) throw new Error(`the page asked elsewhere: ${foreign}`);
    if (it.wrong.length) throw new Error(it.wrong.join('\n'));
  } finally {
    await it.browser.close();
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  // Not awaited: the parts import this file.
  main().catch((error) => {
    console.error(error);
    process.exitCode = 1;
  });
}
