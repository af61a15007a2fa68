// The screen of samples: switched on and off by its buttons, its numbers those of `--json`, a
// function found, gone to and zoomed into by keys, pointer and search.

import assert from 'node:assert/strict';
import { axe, json, show, table, until } from './drive.mjs';

const text = (page, id) => page.locator(`#${id}`).textContent();
const TABLE = 'Functions on a processor';
/** Time on a processor after which the parts of the program are all there. */
const ENOUGH_NS = 3e9;

/** What the table has of these functions. */
const rows = ({ functions }) =>
  functions.map(({ own_ns: own, ns, function: name, module, lines: [first] }) => {
    const line = first && !first[0].startsWith('+') ? first[0] : module;
    return [own, own, ns, ns, name, line].map(String);
  });

/** Nodes of an answer with their callers and callees. */
function tree({ nodes }) {
  const path = [];
  return nodes.map((node) => {
    const made = { ...node, caller: path[node.depth - 1], callees: [] };
    made.caller?.callees.push(made);
    path.splice(node.depth, path.length, made);
    return made;
  });
}

const expected = ({ ns, own_ns: own }) => `${ns} ${own}`;

/** On by its button, until there is enough, and off. */
async function samples(page) {
  await show(page, 'profile');
  await until('why there is nothing', async () =>
    /^no rank is sampled: .*sampling is off/.test(await text(page, 'profile-head')),
  );
  assert(!(await page.locator('canvas.flame').isVisible()));
  await page.locator('#profile-on').click();
  await until('on', async () =>
    (await text(page, 'said')).startsWith('switched sampling on for 4 of 4 ranks'),
  );
  await until('a picture', () => page.locator('canvas.flame').isVisible());
  // It moves by itself.
  await until('enough samples', async () => {
    const { cpu_ns: ns, samples_unnamed: unnamed } = json('profile');
    const drawn = Number(await page.locator('canvas.flame').getAttribute('data-ns'));
    return ns > ENOUGH_NS && unnamed === 0 && drawn > ENOUGH_NS;
  });
  await page.getByLabel('Time', { exact: true }).selectOption('last');
  await until('the last seconds', async () =>
    /^In the last [\d.]+ s: [\d,]+ samples of 4 ranks, /.test(await text(page, 'profile-head')),
  );
  const parts = async () => (await table(page, TABLE)).map(([, , , , name]) => name);
  await until('what it does now', async () => (await parts()).includes('heavy'));
  await page.getByLabel('Time', { exact: true }).selectOption('all');
  await page.locator('#profile-off').click();
  await until('off', async () =>
    (await text(page, 'said')).startsWith('ended sampling on 4 of 4 ranks'),
  );
  assert.equal(json('profile').frequency_max, 0);
}

/** What does not change between two looks, and what the page is given of it. */
async function stands(page) {
  const profile = await until('it stands still', async () => {
    const [one, other] = [json('profile'), json('profile')];
    return JSON.stringify(one.functions) === JSON.stringify(other.functions) && other;
  });
  const given = await page.evaluate(async () => {
    const headers = { 'x-invivo-key': localStorage.getItem('invivo-key') };
    return (await fetch('/ask/profile?inside=0', { headers })).json();
  });
  const { text: said, notes, ...same } = given;
  // How far records lag, and what samplers take to answer, is another thing each time.
  const still = (answer) => ({ ...answer, coverage: null, sampler_cpu_ns: 0 });
  assert.deepEqual(still(same), still(profile));
  assert(said.startsWith('4 ranks sampled until it was switched off: '), said);
  assert(notes[0].startsWith('following the samples took '), notes);
  return profile;
}

async function numbers(page, profile) {
  await show(page, 'profile');
  await until('its sentence', async () =>
    (await text(page, 'profile-head')).startsWith('4 ranks sampled until it was switched off: '),
  );
  assert.deepEqual(await table(page, TABLE), rows(profile));
  await page.getByLabel('The MPI library counts').selectOption('1');
  const inside = rows(json('profile', '--inside'));
  await until(
    'what is inside MPI',
    async () => JSON.stringify(await table(page, TABLE)) === JSON.stringify(inside),
  );
  await page.getByLabel('The MPI library counts').selectOption('0');
  await until('all', async () => (await table(page, TABLE)).length === profile.functions.length);
}

/** From the outermost to the function with the most time, beside it, and into it. */
async function goes(page, profile) {
  const canvas = page.locator('canvas.flame');
  const shown = () => canvas.getAttribute('data-shown');
  const told = page.locator('.told');
  const press = async (key, node) => {
    await page.keyboard.press(key);
    await until(`${key} to ${node.function}`, async () => {
      const value = await told.getAttribute('data-value');
      return value === expected(node) && (await told.textContent()).startsWith(node.function);
    });
  };
  const most = (nodes) => nodes.reduce((max, node) => (node.ns > max.ns ? node : max), nodes[0]);
  const all = tree(profile);
  await canvas.focus();
  let at = most(all.filter(({ depth }) => depth === 0));
  await press('ArrowDown', at);
  while (at.function !== 'step') {
    at = most(at.callees);
    await press('ArrowDown', at);
  }
  const [step, part] = [at, most(at.callees)];
  assert((await told.textContent()).includes('shares.c:'), await told.textContent());
  await press('ArrowDown', part);
  // Those that half a pixel shows, by their names.
  const least = profile.cpu_ns / (await canvas.evaluate(({ clientWidth }) => clientWidth)) / 2;
  const name = (node) => node.function || node.module;
  const beside = step.callees
    .filter((node) => node.ns >= least)
    .sort((one, other) => (name(one) < name(other) ? -1 : 1));
  for (const node of beside.slice(beside.indexOf(part) + 1)) await press('ArrowRight', node);
  for (const node of beside.toReversed().slice(1)) await press('ArrowLeft', node);
  await press('ArrowUp', step);
  await page.keyboard.press('Enter');
  await until('inside', async () => (await shown()) === 'step');
  await press('ArrowDown', part);
  assert((await told.textContent()).includes('% of step; '), await told.textContent());
  await page.keyboard.press('Escape');
  await until('one out', async () => (await shown()) === step.caller.function);
  await page.keyboard.press('Home');
  await until('all', async () => (await shown()) === 'all');

  // The row below the first one is the outermost function: nothing is as wide.
  const box = await canvas.boundingBox();
  await page.mouse.click(box.x + 20, box.y + 25);
  await until('the outermost', async () => !['all', 'step'].includes(await shown()));
  await page.locator('#profile-all').click();
  await until('all', async () => (await shown()) === 'all');
  return all;
}

async function searches(page, all) {
  const heavy = all.filter(({ function: name }) => name === 'heavy');
  const ns = heavy.reduce((sum, node) => sum + node.ns, 0);
  await page.locator('#profile-search').fill('HEAVY');
  const found = page.locator('#profile-found');
  await until('found', async () => (await found.getAttribute('data-value')) === `${ns}`);
  assert.match(await found.textContent(), /^\d+\.\d % in \d+ paths?$/);
  await page.locator('#profile-search').press('Enter');
  await until('gone to', async () =>
    (await page.locator('.told').textContent()).startsWith('heavy in shares_c, shares.c:'),
  );
  await page.locator('#profile-search').fill('');
}

/** The ranks that are chosen elsewhere are those of this screen. */
async function selects(page, profile, requests) {
  await show(page, 'time');
  const picture = page.locator('canvas[role=img]');
  await until('a picture', () => picture.evaluate(({ dataset }) => dataset.sums !== undefined));
  const box = await picture.boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.3);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + box.height * 0.6);
  await page.mouse.up();
  const chosen = page.locator('#bar button', { hasText: 'selected: ranks 1 to 2' });
  await until('a selection', () => chosen.isVisible());
  await show(page, 'profile');
  const shown = async (what, wanted) =>
    until(what, async () => JSON.stringify(await table(page, TABLE)) === JSON.stringify(wanted));
  // What was selected is the time that is shown.
  const interval = await until('the time', () =>
    requests
      .map((request) => new URL(request, 'http://page').searchParams)
      .findLast((words) => words.has('from_ns') && words.has('inside')),
  );
  const [from, to] = ['from_ns', 'to_ns'].map((word) => Number(interval.get(word)) / 1e6);
  const part = json('profile', '--interval', `${from}ms..${to}ms`, '--rank', '1-2');
  assert(part.samples > 0 && part.interval, `${part.samples} samples`);
  await shown('the selected time', rows(part));
  assert.match(await text(page, 'profile-head'), /^2 ranks from [\d.]+ s to [\d.]+ s sampled at /);
  await page.getByLabel('Time', { exact: true }).selectOption('all');
  await shown('two ranks', rows(json('profile', '--rank', '1-2')));
  assert((await page.locator('#screen').textContent()).includes('the selected ranks 1 to 2'));
  await chosen.click();
  await until(
    'all ranks',
    async () => JSON.stringify(await table(page, TABLE)) === JSON.stringify(rows(profile)),
  );
}

/** Samplers are asked while somebody looks, and the log has who switched them. */
async function rests(page, requests) {
  await page.evaluate(axe());
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    const { violations } = await page.evaluate(() => window.axe.run());
    const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`);
    assert.deepEqual(told, [], colorScheme);
  }
  const asked = () => requests.filter((request) => request.includes('/ask/profile')).length;
  const first = asked();
  await until('it asks', () => asked() > first);
  await show(page, 'control');
  const before = asked();
  await page.waitForTimeout(3000);
  assert.equal(asked(), before);
  const commands = (await table(page, 'Commands')).map(([, command]) => command);
  assert(commands.includes('sampling 251 Hz') && commands.includes('sampling off'), `${commands}`);
}

/** What was saved has those of its buffers, or says that there are none. */
async function isSaved(page) {
  await show(page, 'profile');
  await until('the samples', async () => /samples/.test(await text(page, 'profile-head')));
  assert(!(await page.locator('#profile-on').isVisible()));
  assert(!(await page.locator('text=the last 10 seconds').isVisible()));
}

export async function run({ page, url, known, requests }) {
  await page.goto(url);
  await page.waitForFunction(() => document.querySelector('#bar-page').textContent === 'live');
  if (known.saved) return isSaved(page);
  await samples(page);
  const profile = await stands(page);
  await numbers(page, profile);
  const all = await goes(page, profile);
  await searches(page, all);
  await selects(page, profile, requests);
  return rests(page, requests);
}
