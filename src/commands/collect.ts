// In charge of the commands that collect from a school's MIS, take back what was written to it, and steer the demo's.
import { requireEstablishment } from '../access/establishments.ts';
import { collectDatabase } from '../collection/collect.ts';
import { readDatabases } from '../collection/component-databases.ts';
import { databaseNames, MisError, type DatabaseName } from '../collection/connector.ts';
import { openConnector, setDemoMode, type ConnectorParts } from '../collection/connector-settings.ts';
import { demoModes } from '../collection/connectors/demo/demo-connector.ts';
import { pageLimits } from '../collection/connectors/oneroster/oneroster-connector.ts';
import { howToApprove } from '../collection/import-report.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { createOutbound } from '../http/outbound.ts';
import { undoWriteback } from '../schooldata/undo-writeback.ts';
import { optionalText, text, type Command, type Context } from './command.ts';
import { startProgressLine } from './progress-line.ts';
import { renderTable } from './table.ts';

export const collectCommands: readonly Command[] = [
  {
    name: 'collect',
    effect: 'changes',
    help: "Collects a school's data from its MIS now.",
    options: {
      estab: { value: '<id>', help: 'the establishment', required: true },
      database: { value: '<name>', help: `${databaseNames.join(' or ')}; all that there are unless given` },
      force: { value: undefined, help: 'approve deletions above the limit, but not a loss that leaves none of a kind' },
    },
    async run(context, given) {
      const { estab } = await requireEstablishment(context.db, text(given, 'estab'));
      const troubles = await collectAll(context, estab, findName(optionalText(given, 'database')), given.options.force === true);
      const data = { estab, databases: await readDatabases(context.db, estab) };
      return {
        data,
        lines: renderTable(
          data.databases,
          [
            { title: 'Database', of: ({ name }) => name },
            { title: 'Status', of: ({ status }) => status },
            { title: 'Rows', of: ({ rowCount }) => rowCount, right: true },
            { title: 'Last collected', of: ({ updatedAt }) => updatedAt ?? 'never' },
            { title: 'Message', of: ({ message }) => message },
          ],
          'nothing is collected for this school',
        ),
        ...(troubles.length > 0 ? { failed: troubles.join('; ') } : {}),
      };
    },
  },
  {
    name: 'writeback undo',
    effect: 'changes',
    help: 'Takes a writeback back: what it wrote is written as it was before, unless it was changed since.',
    positional: { name: '<trackingId>', help: 'the writeback' },
    options: {},
    async run({ db }, given) {
      const [trackingId = '', ...more] = given.positionals;
      if (more.length > 0) throw new SchoolbellError('invalid_request', 'give one trackingId at a time');
      const data = await undoWriteback(db, trackingId);
      return {
        data,
        lines: [
          `${data.marks} marks will be written as they were, under ${data.trackingId}${data.changedSince > 0 ? `; ${data.changedSince} were changed since` +
            ` and are left alone` : ''}`,
        ],
      };
    },
  },
  {
    name: 'demo mode',
    effect: 'changes',
    help: "Tells the demo's MIS how to behave.",
    positional: { name: '<mode>', help: demoModes.join(', ') },
    options: { estab: { value: '<id>', help: 'of one demo school; of all unless given' } },
    async run({ db }, given) {
      const mode = demoModes.find((one) => one === given.positionals[0]);
      if (!mode || given.positionals.length > 1)
        throw new SchoolbellError('invalid_request', `"${given.positionals.join(' ')}": must be one of ${demoModes.join(', ')}`);
      const schools = await setDemoMode(db, mode, optionalText(given, 'estab'));
      if (schools === 0) throw new SchoolbellError('not_found', 'there is no demo school; start with DEMO=on, or add one: school add --connector demo');
      return { data: { mode, schools }, lines: [`the demo's MIS is ${mode} now`] };
    },
  },
];

function findName(given: string | undefined): DatabaseName | undefined {
  const name = databaseNames.find((one) => one.toLowerCase() === given?.toLowerCase());
  if (given !== undefined && !name) throw new SchoolbellError('invalid_request', `--database "${given}": must be one of ${databaseNames.join(', ')}`);
  return name;
}

/** In this process, whether or not the service runs; one at a time, the roster first. Gives what went wrong. */
async function collectAll(context: Context, estab: string, only: DatabaseName | undefined, force: boolean): Promise<string[]> {
  const { shrinkLimitPercent } = context.config;
  const troubles: string[] = [];
  await withConnectors(context, async (parts) => {
    const connector = await openConnector(parts, estab);
    if (!connector) throw new SchoolbellError('conflict', `${estab} is not connected to an MIS; import a package, or add the school with --connector`);
    for (const name of only ? [only] : connector.offers) {
      const progress = startProgressLine('collect');
      try {
        const before = await collectedAt(parts.db, estab, name);
        const trouble = await collectDatabase(parts, estab, name, { force, full: true, shrinkLimitPercent, onProgress: progress.show });
        if (trouble?.overtaken) {
          // By a newer one that was merged, which is as good; or because another source was set, of which nothing is there yet.
          if ((await collectedAt(parts.db, estab, name)) <= before) troubles.push(`${name}: another source was set while this one was read`);
        } else if (trouble) {
          const { held, report, message } = trouble;
          const forced = force ? '. --force does not approve a loss that leaves none of a kind' : '';
          troubles.push(held && report ? `${name}: import ${report} ${message}${forced}. ${howToApprove(estab, report)}` : `${name}: ${message}`);
        }
      } catch (error) {
        if (!(error instanceof MisError)) throw error;
        troubles.push(`${name}: ${error.message}`);
      } finally {
        progress.end();
      }
    }
  });
  return troubles;
}

async function collectedAt(db: Db, estab: string, name: DatabaseName): Promise<number> {
  const [database] = await readDatabases(db, estab, [name]);
  return database?.updatedAt?.getTime() ?? 0;
}

/** What connectors need, for as long as the work takes. */
export async function withConnectors<T>({ db, seal, config }: Context, work: (parts: ConnectorParts) => Promise<T>): Promise<T> {
  const outbound = createOutbound(parseAllowList(config.outboundAllow), pageLimits);
  try {
    return await work({ db, mis: db, seal, outbound, dataDir: config.dataDir, sandbox: config.demo });
  } finally {
    await outbound.close();
  }
}
