// In charge of the command that spreads the database over several nodes, and brings it back to one.
import { audited } from '../access/audit-trail.ts';
import { whoIsHere } from '../access/who-is-here.ts';
import type { Config } from '../config.ts';
import { requireAlone } from '../db/alone.ts';
import type { Connection, Db, Sql } from '../db/connect.ts';
import { isDone, planDistribution, runDistribution, usualShards, type OnStep, type Plan } from '../db/distribute.ts';
import { readLying } from '../db/distribution.ts';
import { estimateRows } from '../db/estimate-rows.ts';
import { isMigrated, leaveTurn, requireUsable, takeTurn } from '../db/migrate.ts';
import { describePlace, openDatabase } from '../db/open.ts';
import { policies } from '../db/policies.ts';
import { SchoolbellError } from '../errors.ts';
import { optionalText, type Ask, type Given, type Outcome, type StandaloneCommand } from './command.ts';
import { startProgressLine } from './progress-line.ts';
import { stoppable } from './stoppable.ts';
import { renderTable } from './table.ts';

/** Whoever has the turn is connected, and mostly seen before. */
const longestTurnMs = 5_000;
const mostShards = 1_024;
/** A table may take long, as in a backup. */
const policy = { ...policies.backups, name: 'distribute' };

const words = {
  out: {
    goal: 'spread over several nodes',
    done: 'The database is spread over several nodes',
    left: 'run distribute again to go on, or distribute --back to undo it',
  },
  back: {
    goal: 'brought back to one node',
    done: 'The database is on one node',
    left: 'run distribute --back again to go on, or distribute to spread it again',
  },
} as const;

export const distributeCommands: readonly StandaloneCommand[] = [
  {
    name: 'distribute',
    help: 'Spreads the schools of the database over the nodes of Citus, or brings them back to one; while no other process of the service runs.',
    options: {
      back: { value: undefined, help: 'bring all back to one node' },
      shards: {
        value: '<number>',
        help: `into how many pieces schools are put, the first time: as many as there may ever be nodes, or more; ${usualShards} if not given`,
      },
      yes: { value: undefined, help: 'do not ask; needed where there is no terminal' },
      'dry-run': { value: undefined, help: 'say what would be moved where, and change nothing' },
    },
    runAlone: (config, given, ask) => runDistribute(config, given, ask),
  },
];

export async function runDistribute(config: Config, given: Given, ask: Ask, onStep: OnStep = () => {}): Promise<Outcome> {
  const way = given.options.back === true ? 'back' : 'out';
  const shards = parseShards(given);
  const database = await openDatabase(config, undefined, { existing: true, asIs: true });
  try {
    const db = database.owner(policy);
    const plan = await planDistribution(db, way);
    if (isDone(plan)) return { data: { way, moved: [], rows: 0, nothingToDo: true }, lines: [`${words[way].done}: there is nothing to do.`] };
    await requireThisVersion(db, plan);
    const lines = await describePlan(db, config, plan, shards);
    if (given.options['dry-run'] === true) return { data: { dryRun: true, shards, ...plan }, lines };
    await requireAgreed(given, ask, [...lines, `The database is to be ${words[way].goal}.`]);
    const detail = { way, ...(way === 'out' ? { shards } : {}) };
    const moved = await audited(db, whoIsHere(), { action: 'distribute', detail }, () => move(db, config, plan, shards, onStep));
    const rows = moved.reduce((sum, one) => sum + one.rows, 0);
    const told = `${words[way].done}: ${moved.length} tables were moved, with ${rows} rows, as many as before.`;
    return { data: { way, moved: moved.map(({ table, to, rows: of }) => ({ table, to: to ?? 'coordinator', rows: of })), rows }, lines: [told] };
  } finally {
    await database.close();
  }
}

/** Held against starts by the lock of migrations, as a backup is restored. */
async function move(db: Db, config: Config, plan: Plan, shards: number, onStep: OnStep) {
  const connection = await db.reserve();
  const progress = startProgressLine('distribute');
  try {
    await requireAlone(connection, config, policy);
    await takeTurn(connection, longestTurnMs, (told) => progress.show(told));
    await requireAlone(connection, config, policy);
    await requireAsAgreed(connection, plan);
    let steps = 0;
    const left = `what was done stays done, and the service does not start: ${words[plan.way].left}`;
    return await stoppable(left, (signal) =>
      runDistribution(connection, plan, shards, {
        signal,
        onStep: async (step) => {
          progress.show(`step ${(steps += 1)}, ${step}`);
          await onStep(step);
        },
      }),
    );
  } finally {
    progress.end();
    await leaveTurn(connection);
    connection.release();
  }
}

function parseShards(given: Given): number {
  const text = optionalText(given, 'shards');
  if (text === undefined) return usualShards;
  if (!/^[1-9]\d{0,3}$/.test(text) || Number(text) > mostShards)
    throw new SchoolbellError('invalid_request', `--shards "${text}": must be a number from 1 to ${mostShards}`);
  return Number(text);
}

/** What was interrupted is ended as the schema is: until then no migration runs, and the steps go by the catalogue. */
async function requireThisVersion(sql: Sql, { underWay }: Plan): Promise<void> {
  await requireUsable(sql);
  if (underWay !== undefined || (await isMigrated(sql))) return;
  throw new SchoolbellError('conflict', 'the database is of another version: bring it to this one with npx schoolbell upgrade first. Nothing was changed');
}

async function requireAgreed(given: Given, ask: Ask, lines: readonly string[]): Promise<void> {
  if (given.options.yes === true) return;
  if (!ask)
    throw new SchoolbellError(
      'conflict',
      'all tables of schools would be moved, which may take long; repeat with --yes, or see with --dry-run what would be done',
    );
  const answer = await ask([...lines, 'Type yes to go on: '].join('\n'));
  if (answer.trim().toLowerCase() !== 'yes') throw new SchoolbellError('conflict', 'nothing was changed');
}

/** Somebody may have begun, ended or upgraded it while the question stood. */
async function requireAsAgreed(connection: Connection, agreed: Plan): Promise<void> {
  const plan = await planDistribution(connection, agreed.way);
  await requireThisVersion(connection, plan);
  const about = ({ moves, underWay, begun }: Plan) => JSON.stringify({ moves, underWay, begun });
  if (about(plan) !== about(agreed))
    throw new SchoolbellError('conflict', 'somebody else has changed meanwhile what is to be moved: see with --dry-run what it is now. Nothing was changed');
}

const goals = { school: 'the node of its school', everywhere: 'every node', local: 'the coordinator' } as const;

async function describePlan(db: Db, config: Config, { way, citus, nodes, moves, underWay }: Plan, shards: number): Promise<string[]> {
  const about = await estimateRows(db, moves.map(({ table }) => table), citus === undefined ? new Map() : await readLying(db));
  const rows = moves.map(({ table, to }) => ({ table, goal: goals[to ?? 'local'], about: about.get(table) }));
  const workers = nodes.filter(({ group, holdsSchools, active }) => group !== 0 && holdsSchools && active);
  const coordinator = nodes.find(({ group }) => group === 0)?.address;
  const known = `, Citus ${citus}: coordinator ${coordinator}, nodes ${workers.map(({ address }) => address).join(', ')}`;
  return [
    // Whose Citus was taken away has none.
    `${describePlace(config)}${citus === undefined ? '' : known}`,
    ...(underWay === undefined ? [] : [`It was being ${words[underWay].goal} before, which was interrupted.`]),
    ...(way === 'out' ? [`Schools are put into ${shards} pieces, unless they are in pieces already.`] : []),
    '',
    ...renderTable(
      rows,
      [
        { title: 'Table', of: ({ table }) => table },
        { title: 'Goes to', of: ({ goal }) => goal },
        { title: 'Rows, about', of: (one) => one.about, right: true },
      ],
      'No table has to be moved any more; what was taken away for moving is put back.',
    ),
    '',
  ];
}
