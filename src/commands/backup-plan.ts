// In charge of what the command line says and changes of the plan of backups.
import { whoIsHere } from '../access/who-is-here.ts';
import { findOwner, isFileThere, isFolderHere } from '../backup/folder.ts';
import { requirePassphrase } from '../backup/passphrase.ts';
import { askForBackup, setBackupPlan, stopBackupPlan } from '../backup/plan.ts';
import { listBackupRuns, readBackupStanding, type BackupRun } from '../backup/runs.ts';
import { knowsNotes } from '../db/distribution.ts';
import { SchoolbellError } from '../errors.ts';
import { formatCount, formatDuration } from '../http/pages/figures.ts';
import { judgeHere } from '../needs/judge-backups.ts';
import { optionalText, type Command, type Context, type Given, type Option, type Outcome } from './command.ts';
import { parseDuration } from './duration.ts';
import { renderPairs, renderTable } from './table.ts';

const usual = { every: '24h', keep: 14 } as const;
/** What is made more often is not done before the next is due. */
const limits = { shortestSeconds: 600, mostKept: 1_000 } as const;
const shownRuns = 50;

export const planOptions: Readonly<Record<string, Option>> = {
  to: { value: '<folder>', help: 'set up backups by the worker of this machine, best to another disk; each is restored elsewhere and compared' },
  every: { value: '<duration>', help: `how often, as 12h or 7d; ${usual.every} unless given` },
  keep: { value: '<number>', help: `how many good ones are kept; ${usual.keep} unless given` },
  now: { value: undefined, help: 'have the worker make one of those at once' },
  stop: { value: undefined, help: 'end them; those that were made stay' },
};

export const isAboutPlan = ({ options }: Given) => Object.keys(planOptions).some((name) => options[name] !== undefined);

export async function runPlan(context: Context, given: Given): Promise<Outcome> {
  const { options, positionals } = given;
  const asked = ['to', 'now', 'stop'].filter((name) => options[name] !== undefined);
  if (positionals.length > 0) throw new SchoolbellError('invalid_request', 'either a file, or a folder by --to: one is once, the other again and again');
  if (asked.length !== 1) throw new SchoolbellError('invalid_request', 'one of --to, --now and --stop; --every and --keep belong to --to');
  if (options.to !== undefined) return setUp(context, given);
  return options.now === true ? askNow(context) : end(context);
}

async function setUp({ db, seal, config }: Context, given: Given): Promise<Outcome> {
  const everySeconds = parseDuration(optionalText(given, 'every') ?? usual.every, '--every');
  if (everySeconds < limits.shortestSeconds) throw new SchoolbellError('invalid_request', '--every: 10m is the least');
  const wanted = optionalText(given, 'keep') ?? String(usual.keep);
  const keep = /^\d{1,4}$/.test(wanted) ? Number(wanted) : 0;
  if (keep < 1 || keep > limits.mostKept)
    throw new SchoolbellError('invalid_request', `--keep "${wanted}": must be a number from 1 to ${limits.mostKept}`);
  const folder = optionalText(given, 'to') ?? '';
  if (folder === '') throw new SchoolbellError('invalid_request', '--to: names no folder');
  if (await knowsNotes(db))
    throw new SchoolbellError(
      'conflict',
      'the database is spread over several nodes, of which no backup can be had while the service runs, so that each would fail: back up the nodes ' +
        'themselves, with their logs up to the same citus_create_restore_point; or end every process now and then and take one by backup <file>',
    );
  const passphrase = await requirePassphrase(config, optionalText(given, 'passphrase-file'));
  const owner = await findOwner(config.dataDir);
  const plan = await setBackupPlan(db, seal, { folder, everySeconds, keep, passphrase, by: whoIsHere().name, owner }, new Date());
  const every = formatDuration(everySeconds * 1000);
  return {
    data: plan,
    lines: [
      `A backup goes to ${plan.folder} every ${every}, and the newest ${formatCount(keep)} good ones are kept.`,
      'A worker on this machine makes them, the first within a minute or two. Each is restored elsewhere and compared before it counts: backup list',
      'Keep the passphrase in another place too: without it no backup opens.',
    ],
  };
}

async function askNow({ db }: Context): Promise<Outcome> {
  const asked = new Date();
  const plan = await askForBackup(db, asked);
  return { data: { asked }, lines: [`The worker that has ${plan.folder} makes one within a minute or two. See how it stands: backup list`] };
}

async function end({ db }: Context): Promise<Outcome> {
  const plan = await stopBackupPlan(db);
  if (!plan) throw new SchoolbellError('conflict', 'no backups are set up');
  return { data: plan, lines: [`No more backups are made. Those in ${plan.folder} stay, and are not removed by anybody.`] };
}

/** there: whether the file is on this machine. */
type ShownRun = BackupRun & { there: boolean };

export const backupListCommand: Command = {
  name: 'backup list',
  effect: 'reads',
  help: 'Shows where backups go and how often, how they stand, and each with what became of it.',
  options: {},
  async run({ db }) {
    const standing = await readBackupStanding(db, new Date());
    const runs: ShownRun[] = await Promise.all((await listBackupRuns(db, shownRuns)).map(async (run) => ({ ...run, there: await isFileThere(run.file) })));
    const here = standing !== undefined && (await isFolderHere(standing.plan));
    const judged = standing && (await judgeHere(standing));
    return {
      data: { plan: standing?.plan ?? null, here, standing: judged ?? null, runs },
      lines: [
        ...(standing && judged
          ? renderPairs({
              folder: `${standing.plan.folder}${here ? '' : ' (not on this machine)'}`,
              every: formatDuration(standing.plan.everySeconds * 1000),
              keeps: `the newest ${formatCount(standing.plan.keep)} good ones`,
              'set up': standing.plan.since,
              by: standing.plan.by,
              standing: `${judged.verdict}: ${judged.found}`,
              ...(judged.todo === null ? {} : { 'what to do': judged.todo }),
            })
          : ['no backups are set up; backup --to <folder> does that']),
        ...(runs.length > 0 ? ['', ...renderRuns(runs)] : []),
      ],
    };
  },
};

function renderRuns(runs: readonly ShownRun[]): string[] {
  return renderTable(
    runs,
    [
      { title: 'Made', of: ({ startedAt }) => startedAt },
      { title: 'State', of: ({ state }) => state },
      { title: 'Why', of: ({ why }) => why },
      { title: 'Bytes', of: ({ bytes }) => bytes, right: true },
      { title: 'Took', of: ({ tookMs }) => (tookMs === null ? null : formatDuration(tookMs)), right: true },
      { title: 'File', of: ({ file, there, host }) => (there ? file : `${file} (not here; made on ${host})`), most: 100 },
      { title: 'Trouble', of: ({ trouble }) => trouble },
    ],
    '',
  );
}
