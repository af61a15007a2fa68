// Orders of the page reach the ranks; what is dangerous asks first; the page says how it went, and
// comes back by itself from a gateway that was killed.

import assert from 'node:assert/strict';
import { json, open, show, table, until } from './drive.mjs';

const text = (page, id) => page.locator(`#${id}`).textContent();

async function confirm(page, button, answer) {
  await page.locator(`#do-${button}`).click();
  await page.locator('dialog').getByRole('button', { name: answer, exact: true }).click();
}

async function pauses(page, ranks) {
  await show(page, 'control');
  await confirm(page, 'pause', 'Cancel');
  assert.equal(json('status').status.ranks.paused, 0);
  await confirm(page, 'pause', 'Pause');
  await until('paused', async () =>
    (await text(page, 'said')).startsWith(`paused ${ranks} of ${ranks} ranks`),
  );
  assert.equal(json('status').status.ranks.paused, ranks);
  const before = json('status').coverage.ledger.entered;
  await until('the bar', async () => (await text(page, 'bar-application')).startsWith('PAUSED'));
  assert.equal(json('status').coverage.ledger.entered, before, 'they stand');
  await page.locator('#do-resume').click();
  await until('resumed', async () =>
    (await text(page, 'said')).startsWith(`resumed ${ranks} of ${ranks} ranks`),
  );
  await until('calls', () => json('status').coverage.ledger.entered > before);
}

/** Rules are added and taken back. */
async function selects(page) {
  await page.getByLabel('Regions and MPI functions').fill('MPI_Iprobe');
  await page.getByRole('button', { name: 'Leave out' }).click();
  await until('a rule', () =>
    json('selection').rules.some(({ rule }) => rule.fits === 'MPI_Iprobe' && !rule.include),
  );
  await until('its row', async () => {
    const rows = await table(page, 'Rules of what is recorded: the last one that fits decides');
    return rows.length === 1 && rows[0][0] === 'exclude MPI_Iprobe';
  });
  await page.getByRole('button', { name: 'Record everything' }).click();
  await until('no rules', () => json('selection').rules.length === 0);
}

/** A metric is measured, drawn over time, and no longer measured. */
async function measures(page, ranks) {
  const metrics = page.getByRole('region', { name: 'Metrics' });
  await metrics.getByLabel('page-faults').check();
  await metrics.getByLabel('every').fill('50ms');
  await metrics.getByRole('button', { name: 'Measure these' }).click();
  await until('measured', () => json('metrics').ranks_measured === ranks);
  assert.equal(json('metrics').interval_min_ns, 50e6);
  const measured = json('metrics').metrics.filter(({ ranks_now }) => ranks_now > 0);
  assert.deepEqual(
    measured.map(({ name }) => name),
    ['page-faults'],
  );
  await show(page, 'time');
  await until('the choice', async () => {
    const choices = page.getByLabel('Show').locator('option');
    return (await choices.allTextContents()).some((of) => of.startsWith('page-faults'));
  });
  await page.getByLabel('Show').selectOption('page-faults');
  await until('a picture', async () => {
    const grids = page.locator('canvas[data-grid]');
    const drawn = await grids.evaluateAll((all) => all.map(({ dataset }) => dataset.grid));
    return drawn.some((grid) => grid.startsWith('page-faults '));
  });
  await show(page, 'control');
  await metrics.getByRole('button', { name: 'Measure nothing' }).click();
  await until('nothing', () => json('metrics').ranks_measured === 0);
}

async function caps(page) {
  const overhead = page.getByRole('region', { name: 'Overhead' });
  await overhead.getByLabel('cap').fill('30%');
  await overhead.getByRole('button', { name: 'Keep the overhead below this' }).click();
  await until('a cap', () => json('status').status.governance?.cap === 0.3);
  await until('its line', async () => (await overhead.textContent()).includes('cap: 30%'));
  await overhead.getByRole('button', { name: 'No cap' }).click();
  await until('no cap', () => !json('status').status.governance?.cap);
}

async function records(page, ranks) {
  await page.locator('#do-off').click();
  await until('off', () => json('status').status.recording.on === 0);
  await until('the bar', async () => (await text(page, 'bar-recording')).includes('off'));
  await page.locator('#do-on').click();
  await until('on', () => json('status').status.recording.off === 0);
  // By its key, as in the terminal.
  await page.locator('#screen').focus();
  await page.keyboard.press('X');
  await page.locator('dialog').getByRole('button', { name: 'Reset', exact: true }).click();
  await until('reset', () => json('status').coverage.ledger.reset > 0);
  await page.getByRole('button', { name: 'Switch matrix off' }).click();
  await until('matrix off', () =>
    json('analyses').analyses.some(({ name, off }) => name === 'matrix' && off > 0),
  );
  await show(page, 'matrix');
  await until('its note', async () =>
    (await page.locator('#screen').textContent()).includes('matrix: off'),
  );
  await show(page, 'control');
  await page.getByRole('button', { name: 'Switch matrix on' }).click();
  await until('matrix on', () => json('analyses').analyses.every(({ off }) => off === 0));
  await selects(page);
  await measures(page, ranks);
  await caps(page);
  const log = await until('the log', async () => {
    const rows = await table(page, 'Commands');
    return rows.some(([, command]) => command.startsWith('reset')) && rows;
  });
  const commands = log.map(([, command]) => command.split(' ')[0]);
  for (const command of [
    'pause',
    'resume',
    'record',
    'reset',
    'analyses',
    'selection',
    'metrics',
    'overhead',
  ]) {
    assert(commands.includes(command), `${commands}`);
  }
}

async function comesBack(page, gateway) {
  process.kill(gateway, 'SIGKILL');
  await until('away', async () => (await text(page, 'bar-page')) !== 'live');
  await until('live again', async () => (await text(page, 'bar-page')) === 'live');
}

/** Another window of the same browser is let in, one of another browser is not. */
async function lets(context, url) {
  const again = await context.newPage();
  await again.goto(url.split('#')[0]);
  await again.waitForFunction(() => document.querySelector('#bar-page').textContent === 'live');
  await again.close();
  const { browser, page } = await open();
  await page.goto(url);
  await until('refused', async () => (await text(page, 'bar-page')) === 'not let in');
  assert.match(await text(page, 'said'), /opens once/);
  await browser.close();
}

export async function run({ context, page, url, known }) {
  await page.goto(url);
  await page.waitForFunction(() => document.querySelector('#bar-page').textContent === 'live');
  await lets(context, url);
  await pauses(page, known.ranks);
  await records(page, known.ranks);
  await comesBack(page, known.gateway);
}
