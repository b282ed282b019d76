// Walks the table of all commands: each says what it does, and each that changes something or shows people leaves one line in
// the trail, done or refused, without what is secret; what only reads leaves none, and without a line nothing is done.
import assert from 'node:assert/strict';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { useDataDir } from '../../test/data-dir.ts';
import { useDatabase } from '../../test/database.ts';
import { testSecretKey } from '../../test/service.ts';
import { createSeal } from '../access/seal.ts';
import { createTokenKeys } from '../access/token-keys.ts';
import { commands } from '../command-line.ts';
import { readConfig } from '../config.ts';
import { connect } from '../db/connect.ts';
import { policies } from '../db/policies.ts';
import type { Command } from './command.ts';
import { describeDeed } from './record.ts';

const { db, url } = await useDatabase();
const dataDir = useDataDir();
const settings = { DATABASE_URL: url, SECRET_KEY: testSecretKey, DATA_DIR: dataDir };
const readOnly = new URL(url);
readOnly.searchParams.set('options', '-c default_transaction_read_only=on');
const unwritable = connect(readOnly.href, policies.commands);
after(() => unwritable.end());
const seal = createSeal([testSecretKey]);
const { schoolbell, json, run, assertFails } = useCommands(settings);
await createTokenKeys(db, seal).signingKey();

type Line = { actor: string; via: string; from: string; action: string; estab: string | null; rp: string | null; subject: string | null } & {
  detail: Record<string, unknown>;
  outcome: string | null;
  message: string | null;
};
const trail = () => db<Line[]>`
  select actor, via, address as from, action, estab, rp, subject, detail, outcome, message from audit_event order by number`;

beforeEach(async () => {
  await db`truncate audit_event`;
});

/** Whatever it needs, so that it runs: most are then refused by what they look for. */
function fill({ name, options, positional, destroys }: Command): string[] {
  const given = Object.entries(options).filter(([, option]) => option.required && option.value !== undefined);
  return [...name.split(' '), ...given.flatMap(([option]) => [`--${option}`, 'none']), ...(destroys ? ['--yes'] : []), ...(positional ? ['none'] : [])];
}

/** On a database that takes no writes; gives what was in its way. */
async function runReadOnly(command: Command): Promise<string> {
  const given = Object.entries(command.options).filter(([, option]) => option.required).map(([option]) => [option, 'none'] as const);
  const positionals = command.positional ? ['none'] : [];
  const running = command.run({ db: unwritable, seal, config: readConfig(settings) }, { options: Object.fromEntries(given), positionals });
  return running.then(() => '', (error: unknown) => (error as Error).message);
}

for (const command of commands) {
  test(`${command.name} ${command.effect}`, async () => {
    assert.ok(['changes', 'looks', 'reads'].includes(command.effect));
    assert.ok(!command.destroys || command.effect === 'changes', 'what destroys changes');
    const { code, err } = await run(fill(command));
    assert.doesNotMatch(err, /\n\s+at /);
    const lines = await trail();
    if (command.effect === 'reads') {
      assert.deepEqual(lines, []);
      assert.doesNotMatch(await runReadOnly(command), /read-only transaction/, 'what only reads writes nothing');
      return;
    }
    const [line, ...more] = lines;
    assert.deepEqual(more, []);
    assert.deepEqual(
      [line?.actor, line?.via, line?.from, line?.action, line?.outcome === 'done'],
      [userInfo().username, 'command line', hostname(), command.name, code === 0],
    );
    assert.ok(code === 0 || (line?.message && err.includes(line.message)), `${line?.message}: ${err}`);
  });
}

/** Beside those that list something: whoever adds one says here that it changes nothing. */
const readers = ['application schools', 'application show', 'audit', 'requests', 'sandbox show', 'school show', 'settings', 'status'];

test('what only reads lists something, or is known to', () => {
  const reading = commands.filter(({ effect }) => effect === 'reads').map(({ name }) => name);
  assert.deepEqual(reading.filter((name) => !name.endsWith(' list') && !readers.includes(name)), []);
});

test('what shows people, or links that open something, is a look', () => {
  for (const name of ['deliveries', 'export', 'history', 'import held', 'import show', 'mails', 'roster find', 'roster marks', 'roster show'])
    assert.equal(commands.find((one) => one.name === name)?.effect, 'looks', name);
});

test('a database that takes no writes is told from one that does', async () => {
  const rotating = commands.find(({ name }) => name === 'keys rotate') ?? assert.fail();
  assert.match(await runReadOnly(rotating), /read-only transaction/);
});

test('a line says what was given, with school and application, and no secret of it', async () => {
  await json(
    'school add --estab 3801001 --email office@school.example --connector oneroster --url https://mis.example/ims?key=s3cret --client-id us ' +
      '--client-secret s3cret --oneroster-version 1.2 --scope https://scopes.example/read --name',
    '<b>Our "School"</b>',
  );
  await json('application add --rp one --name One --scopes School --callback-url https://one.example/events?token=s3cret');
  await json('authorise --rp one --estab 3801001');
  const lines = await trail();
  assert.deepEqual(lines.map(({ action, estab, rp, outcome }) => [action, estab, rp, outcome]), [
    ['school add', '3801001', null, 'done'],
    ['application add', null, 'one', 'done'],
    ['authorise', '3801001', 'one', 'done'],
  ]);
  assert.deepEqual(lines[0]?.detail, {
    name: '<b>Our "School"</b>', email: 'office@school.example', connector: 'oneroster', url: 'https://mis.example/ims', 'client-id': 'us',
    'client-secret': 'given', 'oneroster-version': '1.2', scope: 'https://scopes.example/read',
  });
  assert.doesNotMatch(JSON.stringify(lines), /s3cret|sb_|whsec/);
});

test('a line about a target, a delivery or a piece of work is one of its school and application too', async () => {
  await json('school add --estab 3801009 --email a@b.example --name Nine');
  await json('application add --rp nine --name Nine --scopes School --callback-url https://nine.example/');
  await json('authorise --rp nine --estab 3801009');
  const [call, mail] = await db<{ id: string }[]>`select id from outbox where rp = 'nine' and kind in ('call', 'mail') order by kind`;
  await db`truncate audit_event`;
  await run(['target', 'pause', 'callback:nine']);
  for (const [command, id = ''] of [['replay', call?.id], ['deliveries', call?.id], ['work retry', mail?.id]] as const) await run([...command.split(' '), id]);
  assert.deepEqual((await trail()).map(({ action, estab, rp }) => [action, estab, rp]), [
    ['target pause', null, 'nine'],
    ...['replay', 'deliveries', 'work retry'].map((action) => [action, '3801009', 'nine']),
  ]);
});

test('an address loses user, password and query, wherever it stands', () => {
  const command = commands.find(({ name }) => name === 'application edit') ?? assert.fail();
  const given = { options: { website: 'see https://me:hunter2@a.example/b?c=s3cret#d now', 'redirect-uri': ['x://me@y/z#s3cret'] }, positionals: [] };
  assert.deepEqual(describeDeed(command, given).detail, { website: 'see https://a.example/b now', 'redirect-uri': ['x://y/z'] });
});

test('the id of a record stands there as it is, so that it goes with whom it names; words that somebody was sought by do not', () => {
  const find = (wanted: string) => commands.find(({ name }) => name === wanted) ?? assert.fail();
  const sourcedId = `https://me:you@mis.example/pupils?id=${'7'.repeat(200)}`;
  for (const name of ['history', 'roster show', 'roster marks'])
    assert.equal(describeDeed(find(name), { options: { estab: 's' }, positionals: [sourcedId, 'more'] }).subject, sourcedId, name);
  assert.equal(describeDeed(find('roster find'), { options: { estab: 's' }, positionals: ['Ann Example'] }).subject, undefined);
  const held = describeDeed(find('import held'), { options: { estab: 's', search: 'Ann', after: 'p1' }, positionals: [] });
  assert.deepEqual(held.detail, { search: 'given', after: 'given' });
});

test('what is cut within a character is done and written down', async () => {
  const { code } = await schoolbell('school add --estab 3801004 --email a@b.example --name', `${'x'.repeat(299)}\u{1f600}`);
  const [line] = await trail();
  assert.deepEqual([code, line?.outcome, line?.detail.name], [0, 'done', `${'x'.repeat(299)}\ufffd`]);
});

test('what is refused says why, what fails without an error too, and a dry run leaves nothing', async () => {
  await schoolbell('school add --estab 3801002 --email a@b.example --name Two');
  await db`truncate audit_event`;
  assert.equal((await schoolbell('school remove --estab 3801002 --dry-run')).code, 0);
  assert.deepEqual(await trail(), []);
  await assertFails(/repeat with --yes/, 'school remove --estab 3801002');
  await assertFails(/refused: 1 problem/, 'import --estab 3801002', join(dataDir, 'nothing.zip'));
  const lines = await trail();
  assert.deepEqual(lines.map(({ action, outcome }) => [action, outcome]), [['school remove', 'refused'], ['import', 'failed']]);
  assert.match(lines[0]?.message ?? '', /would go for good/);
  assert.match(lines[1]?.message ?? '', /^refused: 1 problem/);
  assert.equal(lines[1]?.subject, join(dataDir, 'nothing.zip'));
});

test('where no line can be written nothing is done', async () => {
  await db`alter table audit_event rename to audit_event_gone`;
  try {
    assert.equal((await schoolbell('school add --estab 3801003 --email a@b.example --name Three')).code, 1);
    assert.deepEqual(await db`select from establishment where estab = '3801003'`, []);
  } finally {
    await db`alter table audit_event_gone rename to audit_event`;
  }
});

test('audit shows who did what from where', async () => {
  await schoolbell('school confirm --estab none --email office@none.example');
  const [entry] = (await json<Record<string, string>[]>('audit')).filter(({ kind }) => kind === 'operator');
  assert.deepEqual([entry?.what, entry?.by, entry?.estab], ['school confirm', userInfo().username, 'none']);
  await db`
    insert into audit_event (actor, via, action, detail)
    select 'somebody', 'console', 'did ' || at, '{}' from generate_series(1, 600) at`;
  const shown = (await schoolbell('audit --kind operator')).out;
  const place = /there may be more: --before (\S+)$/m.exec(shown)?.[1] ?? assert.fail(shown.slice(-200));
  assert.match((await schoolbell('audit --kind operator --before', place)).out, /did 100 [^]*did 1 [^]*school confirm/);
});
