// In charge of the command for upgrades: what this version would do to the database, without doing it; or doing it now.
import { audited } from '../access/audit-trail.ts';
import { createSeal, readSecretKeys } from '../access/seal.ts';
import { whoIsHere } from '../access/who-is-here.ts';
import { createBackupBeforeUpgrade } from '../backup/before-upgrade.ts';
import { backupCore } from '../backup/core.ts';
import type { Config } from '../config.ts';
import { describePlace, openDatabase } from '../db/open.ts';
import { policies } from '../db/policies.ts';
import { formatDuration } from '../http/pages/figures.ts';
import { checkUpgrade, type ForeseenUpgrade } from '../needs/check-upgrade.ts';
import { version } from '../version.ts';
import type { Outcome, StandaloneCommand } from './command.ts';
import { renderTable } from './table.ts';

export const upgradeCommands: readonly StandaloneCommand[] = [
  {
    name: 'upgrade',
    help: 'Brings the database to this version, as its first start does; or says what that would do.',
    options: {
      check: { value: undefined, help: 'only say what this version would do to the database, who would wait and what has to be done before' },
      'without-backup': { value: undefined, help: 'take no backup before, although backups are set up' },
    },
    runAlone: (config, given) => (given.options.check === true ? check(config) : upgrade(config, given.options['without-backup'] === true)),
  },
];

async function check(config: Config): Promise<Outcome> {
  const database = await openDatabase(config, undefined, { existing: true, asIs: true });
  try {
    const found = await checkUpgrade({ db: database.pool(policies.commands), config }, new Date());
    const failing = found.checks.filter(({ verdict }) => verdict === 'fail');
    return {
      data: { ok: failing.length === 0, ...found },
      lines: render(config, found),
      ...(failing.length > 0 ? { failed: `not ready for the upgrade: ${failing.map(({ check: name }) => name).join(', ')}` } : {}),
    };
  } finally {
    await database.close();
  }
}

async function upgrade(config: Config, withoutBackup: boolean): Promise<Outcome> {
  const told: string[] = [];
  const tell = (words: string) => void told.push(words);
  const before = createBackupBeforeUpgrade({ config, seal: () => createSeal(readSecretKeys(config)), core: backupCore, tell });
  const database = await openDatabase(config, tell, { existing: true, ...(withoutBackup ? {} : { before }) });
  try {
    const db = database.pool(policies.commands);
    const deed = { action: 'upgrade', detail: { version, ...(withoutBackup ? { 'without-backup': true } : {}) } };
    const [row] = await audited(db, whoIsHere(), deed, () => db<{ migration: number }[]>`select max(version) as migration from migration`);
    const migration = row?.migration ?? 0;
    return { data: { version, migration, told }, lines: [...told, `The database is at migration ${migration}, of version ${version}.`] };
  } finally {
    await database.close();
  }
}

const holding = { nobody: 'nobody', writers: 'who writes', everybody: 'everybody' } as const;

function render(config: Config, { version: own, at, newest, versions, pending, processes, checks, firstStart }: ForeseenUpgrade): string[] {
  const [last] = versions;
  const steps = pending.flatMap(({ name, outside, steps: of }) => of.map((step) => ({ name, outside, ...step })));
  return [
    `Schoolbell ${own}, with migrations up to ${newest}, on ${describePlace(config)}`,
    `The database is at migration ${at}${last ? `; the version that came to it last is ${last.version}` : ', of a version that left no name'}.`,
    '',
    ...renderTable(
      steps,
      [
        { title: 'Migration', of: ({ name }) => name },
        { title: 'Table', of: ({ table }) => table },
        { title: 'What it does', of: ({ words }) => words, most: 60 },
        { title: 'Takes', of: ({ takesMs }) => (takesMs === 0 ? 'a moment' : `about ${formatDuration(takesMs)}`) },
        { title: 'Holds up', of: ({ holdsUp }) => holding[holdsUp] },
      ],
      'This version adds nothing to the database.',
    ),
    ...(processes.length > 0 ? [''] : []),
    ...(processes.length > 0
      ? renderTable(
          processes,
          [
            { title: 'Process', of: ({ pid }) => String(pid) },
            { title: 'Machine', of: ({ host, address }) => host ?? address },
            { title: 'Version', of: (one) => one.version ?? 'older than 0036' },
            { title: 'Does', of: ({ does }) => does.join(', ') },
            { title: 'Since', of: ({ since }) => since },
          ],
          '',
        )
      : []),
    '',
    ...renderTable(
      checks,
      [
        { title: 'Check', of: ({ check: name }) => name },
        { title: 'Verdict', of: ({ verdict }) => verdict },
        { title: 'Found', of: ({ found }) => found },
        { title: 'What to do', of: ({ todo }) => todo },
      ],
      '',
    ),
    '',
    `The first start of ${own} here: ${firstStart.join('; ')}.`,
  ];
}
