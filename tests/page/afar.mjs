// A job behind a login: its numbers are those that `--json` prints, orders reach the ranks, and a
// connection that is killed is made again.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { json, show, table, until } from './drive.mjs';

const text = (page, id) => page.locator(`#${id}`).textContent();

/** Both processes of each login: with one of them dead the other one goes on. */
function killLogins(sshd) {
  // One of a command that is done may end by itself.
  const script = 'for at in $(pgrep -P "$1"); do kill -KILL $at $(pgrep -P $at) || true; done';
  execFileSync('sh', ['-c', script, 'sh', `${sshd}`]);
}

export async function run({ page, url, known }) {
  const { ranks, sshd } = known;
  await page.goto(url);
  await until('live', async () => (await text(page, 'bar-page')) === 'live');

  await show(page, 'control');
  await page.locator('#do-pause').click();
  await page.locator('dialog').getByRole('button', { name: 'Pause', exact: true }).click();
  await until('paused', async () =>
    (await text(page, 'said')).startsWith(`paused ${ranks} of ${ranks} ranks`),
  );
  await until('all records', () => json('status').coverage.ledger.in_flight === 0);
  await show(page, 'functions');
  const { rows } = json('functions');
  assert(rows.length > 3, 'a program of some functions');
  const shown = (await table(page, 'Functions')).map((row) => row.slice(0, 3));
  assert.deepEqual(
    shown,
    rows.map((row) => [row.function, `${row.calls}`, `${row.time_ns}`]),
  );

  killLogins(sshd);
  await until('away', async () => (await text(page, 'bar-page')) !== 'live');
  await until('live again', async () => (await text(page, 'bar-page')) === 'live');

  await show(page, 'control');
  await page.locator('#do-resume').click();
  await until('resumed', async () =>
    (await text(page, 'said')).startsWith(`resumed ${ranks} of ${ranks} ranks`),
  );
}
