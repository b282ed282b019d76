// In charge of the command ops/failover-drill: a cluster is built for each way of reaching it, Schoolbell is drilled on it, what came of that is
// said, and nothing is left.
import { parseArgs } from 'node:util';
import { drill } from '../../test/failover/drill.ts';
import { openPatroniCluster, ways, type Way } from './patroni-cluster.ts';
import { ProgramsMissing, requirePrograms, type Programs } from './programs.ts';
import { renderReport } from './render-report.ts';
import { openScratch, type Scratch } from './scratch.ts';

const defaultTimes = 10;
const help = `Usage: ops/failover-drill [--through haproxy|hosts] [--times N] [--silent]

Builds PostgreSQL under Patroni on this machine (three nodes that replicate synchronously, etcd, haproxy), in a folder of its own and on free ports of
127.0.0.1, lets Schoolbell work on it, kills the server that leads again and again, and says what became of that. Nothing is left
afterwards, and no other PostgreSQL of the machine is touched. It ends with 0 if nothing was wrong, with 1 if something was or it could not be done.

  --through haproxy   DATABASE_URL is one address: haproxy, which follows Patroni
  --through hosts     DATABASE_URL names all three servers
                      without --through, one after the other
  --times N           how often the server that leads is killed, each way (${defaultTimes})
  --silent            it is not killed but hangs, so that its connections do not end by themselves
  --help              this text

A kill takes about half a minute: until another leads, and until the one that was killed follows again.
`;

class WrongUse extends Error {}

/** That which is open, so that whatever ends the drill can clear it away. */
const opened = new Set<Scratch>();
let isEnding = false;

/** While all is cleared away the load finds much that is wrong, and none of it counts. */
function tell(line: string): void {
  if (!isEnding) process.stdout.write(`${line}\n`);
}

type Options = Readonly<{ chosen: readonly Way[]; times: number; silent: boolean }>;

/** Undefined: the help is asked for. */
function readOptions(args: readonly string[]): Options | undefined {
  const flag = { type: 'boolean', default: false } as const;
  const options = { through: { type: 'string' }, times: { type: 'string', default: String(defaultTimes) }, silent: flag, help: flag } as const;
  const { values } = parse(() => parseArgs({ args: [...args], options }));
  if (values.help) return undefined;
  const chosen = values.through === undefined ? ways : ways.filter((way) => way === values.through);
  if (chosen.length === 0) throw new WrongUse(`--through: "${values.through}" is not one of ${ways.join(', ')}`);
  if (!/^[1-9]\d{0,3}$/.test(values.times)) throw new WrongUse(`--times: "${values.times}" is not a whole number from 1 to 9999`);
  return { chosen, times: Number(values.times), silent: values.silent };
}

function parse<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new WrongUse((error as Error).message);
  }
}

/** Whether all was well. */
async function drillThrough(way: Way, { times, silent }: Options, programs: Programs): Promise<boolean> {
  tell(`\nThrough ${way}:`);
  const scratch = openScratch();
  opened.add(scratch);
  // What the drill itself writes goes with the folder.
  process.env.TMPDIR = scratch.folder;
  const cluster = await openPatroniCluster(scratch, programs, { way, silent, tell });
  const report = await drill(cluster, { times, tell });
  await cluster.close();
  opened.delete(scratch);
  tell(renderReport(way, report));
  return report.faults.length === 0;
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (!options) {
    process.stdout.write(help);
    return 0;
  }
  const programs = requirePrograms();
  let isWell = true;
  for (const way of options.chosen) isWell = (await drillThrough(way, options, programs)) && isWell;
  return isWell ? 0 : 1;
}

async function end(code: number, why?: string): Promise<never> {
  if (why !== undefined) process.stderr.write(`failover-drill: ${why}\n`);
  for (const scratch of opened) await scratch.clear().catch((error: unknown) => void process.stderr.write(`failover-drill: ${(error as Error).message}\n`));
  process.exit(code);
}

for (const [signal, code] of [['SIGINT', 130], ['SIGTERM', 143], ['SIGHUP', 129]] as const) {
  process.on(signal, () => {
    if (isEnding) return;
    isEnding = true;
    void end(code, `${signal}: clearing away`);
  });
}
const fail = (error: unknown) => {
  if (isEnding) return;
  isEnding = true;
  const isPlain = error instanceof WrongUse || error instanceof ProgramsMissing;
  void end(1, isPlain ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error));
};
process.on('uncaughtException', fail);
await main().then((code) => (isEnding ? undefined : end(code)), fail);
