// In charge of the command line: finds the command, checks its options, opens the database, says what is to be printed.
// It works whether or not the service is running.
import { parseArgs } from 'node:util';
import { createSeal, readSecretKeys } from './access/seal.ts';
import { createBackupBeforeUpgrade } from './backup/before-upgrade.ts';
import { backupCore } from './backup/core.ts';
import { SourceError } from './collection/problem.ts';
import { applicationCommands } from './commands/application.ts';
import { applicationShowCommands } from './commands/application-show.ts';
import { auditCommands } from './commands/audit.ts';
import { parseOptionsOf, type Ask, type Command, type Given, type Outcome, type StandaloneCommand } from './commands/command.ts';
import { authorisationCommands } from './commands/authorisation.ts';
import { backupCommands } from './commands/backup.ts';
import { collectCommands } from './commands/collect.ts';
import { deliveryCommands } from './commands/deliveries.ts';
import { destroyingOptions, runAgreed } from './commands/destroying.ts';
import { distributeCommands } from './commands/distribute.ts';
import { workCommands } from './commands/durable-work.ts';
import { historyCommands } from './commands/history.ts';
import { inboxCommands } from './commands/inbox.ts';
import { importCommands } from './commands/imports.ts';
import { keyCommands } from './commands/keys.ts';
import { loginCommands } from './commands/login.ts';
import { mailCommands } from './commands/mails.ts';
import { developerCommands } from './commands/developer.ts';
import { operatorCommands } from './commands/operator.ts';
import { runRecorded } from './commands/record.ts';
import { restoreCommands } from './commands/restore.ts';
import { rosterCommands } from './commands/roster.ts';
import { rosterLookCommands } from './commands/roster-look.ts';
import { sandboxCommands } from './commands/sandbox.ts';
import { schoolCommands } from './commands/school.ts';
import { secretCommands } from './commands/secrets.ts';
import { settingsCommands } from './commands/settings.ts';
import { sourceCommands } from './commands/source.ts';
import { statusCommands } from './commands/status.ts';
import { targetCommands } from './commands/target.ts';
import { upgradeCommands } from './commands/upgrade.ts';
import { uploadTokenCommands } from './commands/upload-token.ts';
import { ConfigError, readConfig, type Config } from './config.ts';
import { describePlace, openDatabase } from './db/open.ts';
import { policies } from './db/policies.ts';
import { explainDatabaseFault } from './environment-fault.ts';
import { SchoolbellError } from './errors.ts';
import { version } from './version.ts';

export const commands: readonly Command[] = [
  ...schoolCommands, ...sourceCommands, ...uploadTokenCommands, ...applicationCommands, ...applicationShowCommands, ...secretCommands, ...keyCommands,
  ...authorisationCommands, ...loginCommands, ...rosterCommands, ...rosterLookCommands, ...importCommands, ...historyCommands, ...collectCommands,
  ...deliveryCommands, ...targetCommands, ...inboxCommands, ...mailCommands, ...workCommands, ...operatorCommands, ...developerCommands, ...auditCommands,
  ...statusCommands, ...settingsCommands, ...backupCommands, ...sandboxCommands,
];

/** Runs until it is told to end, by a signal, and ends the process. */
const start: StandaloneCommand = {
  name: 'start',
  help: 'Runs the service, its pages and its work, until Ctrl-C or a signal ends it; the first start makes what is missing.',
  options: {},
  runAlone: async () => {
    await import('./main.ts');
    return { data: null, lines: [] };
  },
};

/** They find their own database, or need none. */
export const standaloneCommands: readonly StandaloneCommand[] = [start, ...restoreCommands, ...upgradeCommands, ...distributeCommands];

type AnyCommand = Command | StandaloneCommand;
const allCommands: readonly AnyCommand[] = [...standaloneCommands, ...commands];

/** What a command leaves behind: how the process ends, and what it prints where. */
export type Ran = { code: 0 | 1; stdout: string; stderr: string };

/** ask: puts a question to whoever sits at the terminal, if somebody does. */
export async function runCommandLine(args: readonly string[], env?: Record<string, string | undefined>, ask?: Ask): Promise<Ran> {
  const warnings: string[] = [];
  const ran = await answer(args, env, ask, (warning) => warnings.push(`schoolbell: warning: ${warning}\n`)).catch(describeFailure);
  return { ...ran, stderr: warnings.join('') + ran.stderr };
}

function describeFailure(error: unknown): Ran {
  // What has a code is about the world outside (the database is away, a file cannot be written); the rest is our fault.
  const expected = error instanceof SourceError || error instanceof ConfigError || (error as { code?: string }).code !== undefined;
  return { code: 1, stdout: '', stderr: `schoolbell: ${expected ? (error as Error).message : ((error as Error).stack ?? String(error))}\n` };
}

type Env = Record<string, string | undefined> | undefined;

async function answer(args: readonly string[], env: Env, ask: Ask, warn: (words: string) => void): Promise<Ran> {
  if (args[0] === '--version') return say(args.includes('--json') ? JSON.stringify({ version }) : `schoolbell ${version}`);
  const found = findCommand(args);
  if (!found) {
    const near = allCommands.filter(({ name }) => name.split(' ')[0] === args[0]);
    if (args.length === 0 || args.includes('--help')) return say(overview(near.length > 0 ? near : allCommands));
    const words = args.filter((arg) => !arg.startsWith('-')).slice(0, 2).join(' ');
    const those = near.length > 0 ? `there are:\n${listCommands(near)}` : 'npx schoolbell --help lists them';
    throw new SchoolbellError('invalid_request', `there is no command "${words}"; ${those}`);
  }
  const { command, rest } = found;
  if (rest.includes('--help')) return say(helpOf(command));
  const { given, json } = parseGiven(command, rest);
  for (const [name, { warning }] of Object.entries(command.options)) if (warning !== undefined && given.options[name] !== undefined) warn(warning);
  const { data, lines, failed } = await run(command, given, env, ask).catch((error: unknown) => {
    if (given.missing === undefined) throw error;
    const faults = error instanceof SchoolbellError && error.code === 'invalid_request' ? error.message : given.missing;
    throw new SchoolbellError('invalid_request', `${faults}\n${helpOf(command)}`, { cause: error });
  });
  return say(json ? JSON.stringify(data, null, 2) : lines.join('\n'), failed);
}

function say(text: string, failed?: string): Ran {
  return failed === undefined ? { code: 0, stdout: `${text}\n`, stderr: '' } : { code: 1, stdout: `${text}\n`, stderr: `schoolbell: ${failed}\n` };
}

function findCommand(args: readonly string[]): { command: AnyCommand; rest: string[] } | undefined {
  const [longest] = allCommands
    .map((command) => ({ command, words: command.name.split(' ') }))
    .filter(({ words }) => words.every((word, index) => args[index] === word))
    .toSorted((one, other) => other.words.length - one.words.length);
  return longest && { command: longest.command, rest: args.slice(longest.words.length) };
}

const optionsOf = (command: AnyCommand): Command['options'] => ('destroys' in command ? { ...command.options, ...destroyingOptions } : command.options);

function parseGiven(command: AnyCommand, args: string[]): { given: Given; json: boolean } {
  let parsed: ReturnType<typeof parseArgs>;
  try {
    const options = { ...parseOptionsOf(optionsOf(command)), json: { type: 'boolean' } } as const;
    parsed = parseArgs({ args, options, allowPositionals: command.positional !== undefined, strict: true });
  } catch (error) {
    throw new SchoolbellError('invalid_request', `${(error as Error).message}\n${helpOf(command)}`);
  }
  const required = Object.entries(command.options).filter(([, option]) => option.required);
  const missing = required.filter(([name]) => parsed.values[name] === undefined).map(([name]) => `--${name}`);
  if (command.positional && !command.positional.optional && parsed.positionals.length === 0) missing.push(command.positional.name);
  const given = { options: parsed.values, positionals: parsed.positionals };
  const json = parsed.values.json === true;
  if (missing.length === 0) return { given, json };
  const fault = `${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} missing`;
  if ('reportsMissing' in command) return { given: { ...given, missing: fault }, json };
  throw new SchoolbellError('invalid_request', `${fault}\n${helpOf(command)}`);
}

async function run(command: AnyCommand, given: Given, env: Env, ask: Ask): Promise<Outcome> {
  const withoutDatabase = 'runAlone' in command && command.needsNoDatabase?.(given) === true;
  const config = readConfig(env, withoutDatabase ? ['DATABASE_URL', 'DATABASE_READ_URL', 'SECRET_KEY'] : []);
  return runWith(config, command, given, ask).catch((error: unknown) => {
    throw explainDatabaseFault(error, describePlace(config));
  });
}

async function runWith(config: Config, command: AnyCommand, given: Given, ask: Ask): Promise<Outcome> {
  if ('runAlone' in command) return command.runAlone(config, given, ask);
  const tell = (words: string) => void process.stderr.write(`schoolbell: ${words}\n`);
  const before = createBackupBeforeUpgrade({ config, seal: () => createSeal(readSecretKeys(config)), core: backupCore, tell });
  const database = await openDatabase(config, undefined, { existing: true, before, asIs: command.leavesSchema?.(given) ?? false });
  try {
    const seal = createSeal(readSecretKeys(config));
    const context = { db: database.pool(policies.commands), seal, config, ask };
    return await runRecorded(command, context, given, () => runAgreed(command, context, given));
  } finally {
    await database.close();
  }
}

const overview = (of: readonly AnyCommand[]) => `Usage: npx schoolbell <command> [--json] [--help] | --version\n\n${listCommands(of)}`;

function listCommands(of: readonly AnyCommand[]): string {
  const width = Math.max(...of.map(({ name }) => name.length));
  return of.map((command) => `  ${command.name.padEnd(width)}  ${command.help}`).join('\n');
}

function helpOf(command: AnyCommand): string {
  const options = Object.entries(optionsOf(command));
  const shown = options.map(([name, option]) => (option.required ? `--${name} ${option.value}` : `[--${name}${option.value ? ` ${option.value}` : ''}]`));
  return [
    `Usage: npx schoolbell ${[command.name, ...shown, command.positional?.name].filter(Boolean).join(' ')} [--json]`,
    '',
    command.help,
    '',
    ...options.map(([name, option]) => `  --${name.padEnd(14)} ${option.help}`),
    ...(command.positional ? [`  ${command.positional.name.padEnd(16)} ${command.positional.help}`] : []),
    `  --${'json'.padEnd(14)} print one JSON document`,
  ].join('\n');
}
