// In charge of a drill: a service of two processes under load, whose database loses its primary again and again, and a judgement of all
// that was promised meanwhile.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testSecretKey } from '../service.ts';
import { until } from '../until.ts';
import { AskBook, type Figures, type Gap } from './ask-book.ts';
import { openCaller } from './caller.ts';
import type { FailingCluster } from './failing-cluster.ts';
import { judgeSchool } from './judge.ts';
import { startReading } from './readers.ts';
import { watchReadiness } from './readiness.ts';
import { countRepetitions, openReceiver } from './receiver.ts';
import { makeSchools } from './school.ts';
import { Seen } from './seen.ts';
import { countErrors, findErrorOf, startService, type ServiceProcess } from './service-processes.ts';
import { startWriting } from './writers.ts';

export type DrillReport = {
  kills: number;
  requests: Record<string, Figures>;
  /** How often somebody was told to come again, and the slowest word of /readyz. */
  refusals: number;
  /** Those who were told so although no server was lost at the time, and why; a machine with too much to do has some. */
  strays: string[];
  slowestReadyMs: number;
  /** From the end of a primary until a write that was asked for later was acknowledged; and from the promotion on. */
  longestGapMs: number;
  longestAfterPromotionMs: number;
  acknowledged: number;
  found: number;
  /** Marks whose outcome did not come while their sender waited. */
  lateMarks: number;
  deliveries: number;
  repetitions: number;
  mostRepetitionsPerKill: number;
  pids: Record<string, number | undefined>;
  /** What the logs say of errors, in their words. */
  errors: Record<string, Record<string, number>>;
  faults: string[];
};

export type DrillOptions = {
  times: number;
  estabs?: readonly string[];
  tell?: (line: string) => void;
  /** How long the end waits for what was promised. */
  patienceSeconds?: number;
};

/** All reads and writes go on this long after a server has taken over, at the latest. */
const longestBackSeconds = 15;
/** While what was begun in the gap comes to its end. */
const graceMs = 1_000;

export async function drill(
  cluster: FailingCluster,
  { times, estabs = ['first', 'second'], tell = () => {}, patienceSeconds }: DrillOptions,
): Promise<DrillReport> {
  const folder = mkdtempSync(join(tmpdir(), 'schoolbell-drill-'));
  chmodSync(folder, 0o711);
  const [receiver, book, over] = [await openReceiver(), new AskBook(tell), new AbortController()];
  const processes: ServiceProcess[] = [];
  const settings = {
    DATABASE_URL: cluster.databaseUrl,
    ...(cluster.databaseReadUrl ? { DATABASE_READ_URL: cluster.databaseReadUrl } : {}),
    SECRET_KEY: testSecretKey,
    ADMIN_PASSWORD: 'a password for a drill',
    OUTBOUND_ALLOW: '127.0.0.0/8',
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'warn',
  };
  try {
    const api = await startService('api', folder, settings);
    processes.push(api);
    const worker = await startService('worker', folder, settings);
    processes.push(worker);
    const pids = Object.fromEntries(processes.map(({ role, pid }) => [role, pid]));
    const application = await makeSchools(estabs, { ...settings, DATA_DIR: join(folder, 'commands') }, `${receiver.origin}/events`);
    const caller = await openCaller(book, api.url, application);
    const seen = new Map(estabs.map((estab) => [estab, new Seen(book, estab)]));
    const writing = caller.schools.map((school) => {
      const { estab } = school.school;
      return { school, writers: startWriting(book, school, seen.get(estab) ?? new Seen(book, estab), receiver.origin, over.signal) };
    });
    const imported = () => writing.every(({ writers }) => writers.acknowledged.packages.some(({ state }) => state === 'Done'));
    await until('every school has a roster', imported, () => worker.output().slice(-2000));
    const readers = startReading(book, caller, seen, over.signal);
    const readiness = watchReadiness(book, processes, over.signal);
    const [gaps, afterPromotion] = [[] as number[], [] as number[]];

    /** Each school has had something written and the readers have been answered, both asked for from now on. */
    const goesOn = async () => {
      const [from, answered] = [performance.now(), readers.answered()];
      const holds = () => readers.answered() > answered + 20 && writing.every(({ writers }) => writers.last.begun > from);
      await until('reads and writes go on', holds, () => '', longestBackSeconds)
        .catch((error: Error) => book.fault('reads and writes do not go on', error.message));
    };

    await goesOn();
    for (let kill = 1; kill <= times; kill += 1) {
      let gap: Gap = { from: Infinity, to: Infinity };
      // Mostly the other server takes over at once; now and then only when all have noticed.
      await cluster.failOver({ ending: () => (gap = book.openGap()), meanwhile: kill % 4 === 1 ? () => readiness.saysNo(gap) : undefined });
      const promoted = performance.now();
      await until('writes go on', () => writing.every(({ writers }) => writers.last.begun > gap.from), () => '', longestBackSeconds)
        .catch((error: Error) => book.fault('writes do not go on', error.message));
      gaps.push(performance.now() - gap.from);
      afterPromotion.push(performance.now() - promoted);
      await Promise.all([readiness.saysYes(), goesOn()]);
      gap.to = performance.now() + graceMs;
      await cluster.heal();
      tell(`kill ${kill}: writes again after ${Math.round(gaps.at(-1) ?? 0)} ms, ${Math.round(afterPromotion.at(-1) ?? 0)} ms after the promotion`);
    }
    await goesOn();
    over.abort();
    tell('the load ends, and what was promised is waited for');
    await Promise.all([readers.over, ...writing.map(({ writers }) => writers.over)]);
    const found = await Promise.all(writing.map(({ school, writers }) => {
      const marksFolder = join(worker.dataDir, 'writeback', school.school.estab);
      return judgeSchool(book, { caller: school, writers, receiver, marksFolder }, patienceSeconds);
    }));
    const repetitions = countRepetitions(receiver.deliveries(), book.gaps);
    if (repetitions.without > 0) book.fault('deliveries were repeated although no server had been lost', String(repetitions.without));
    if (repetitions.most > 1) book.fault('a delivery was repeated more than once after one kill', String(repetitions.most));
    judgeProcesses(book, processes);
    const strays = book.strays.map(({ name, requestId }) => `${name}: ${findErrorOf(api, requestId)}`);
    if (strays.length > times) book.fault('many were refused although no server was lost', strays.slice(0, 3).join('; '));
    const sum = (of: (one: { acknowledged: number; found: number }) => number) => found.reduce((total, one) => total + of(one), 0);
    return {
      kills: times,
      requests: book.figures(),
      refusals: book.refusals(),
      strays,
      slowestReadyMs: readiness.slowestMs(),
      longestGapMs: Math.round(Math.max(0, ...gaps)),
      longestAfterPromotionMs: Math.round(Math.max(0, ...afterPromotion)),
      acknowledged: sum((one) => one.acknowledged),
      found: sum((one) => one.found),
      lateMarks: writing.flatMap(({ writers }) => writers.acknowledged.marks).filter(({ late }) => late).length,
      deliveries: receiver.deliveries().length,
      repetitions: repetitions.total,
      mostRepetitionsPerKill: Math.max(0, ...repetitions.perGap),
      pids,
      errors: Object.fromEntries(processes.map((process) => [process.role, countErrors(process)])),
      faults: book.faults,
    };
  } finally {
    over.abort();
    await Promise.all(processes.map((process) => process.end()));
    receiver.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** They are those that were started, and nothing went past them. */
function judgeProcesses(book: AskBook, processes: readonly ServiceProcess[]): void {
  for (const { role, runs, output } of processes) {
    if (!runs()) book.fault(`the ${role} ended`, output().slice(-2000));
    const past = /^.*(?:uncaught|unhandled|unexpected error|\n\s+at ).*$/im.exec(output())?.[0];
    if (past) book.fault(`the log of the ${role} has an error that nobody expected`, past.slice(0, 1000));
  }
}
