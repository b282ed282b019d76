// In charge of what /readyz of each process says throughout a drill, and when.
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../until.ts';
import type { AskBook, Gap } from './ask-book.ts';
import type { ServiceProcess } from './service-processes.ts';

const everyMs = 100;
/** After the primary was ended; what was found out a moment ago may still be said. */
const longestYesMs = 2_000;
const longestNoSeconds = 20;
const longestBackSeconds = 20;
const longestAnswerMs = 15_000;

export type Readiness = {
  /** While nothing takes writes: until every process says no. */
  saysNo(gap: Gap): Promise<void>;
  /** Until every process says yes, to a question that was put after this. */
  saysYes(): Promise<void>;
  slowestMs(): number;
};

/** at: when it was answered. */
type Said = { asked: number; at: number; status: number };

export function watchReadiness(book: AskBook, processes: readonly ServiceProcess[], over: AbortSignal): Readiness {
  const last = new Map<ServiceProcess, Said>();
  let slowestMs = 0;
  /** While nothing takes writes, since when. */
  let lost: number | undefined;

  async function look(process: ServiceProcess): Promise<void> {
    for (; !over.aborted; await pause(everyMs)) {
      const asked = performance.now();
      const status = (await fetch(`${process.url}/readyz`, { signal: AbortSignal.timeout(2 * longestAnswerMs) }).catch(() => undefined))?.status ?? 0;
      const at = performance.now();
      slowestMs = Math.max(slowestMs, Math.round(at - asked));
      last.set(process, { asked, at, status });
      if (status !== 200 && status !== 503) book.fault(`/readyz of the ${process.role} answered ${status}`);
      if (at - asked > longestAnswerMs) book.fault(`/readyz of the ${process.role} took longer than ${longestAnswerMs} ms`, `${at - asked} ms`);
      if (status === 200 && lost !== undefined && at - lost > longestYesMs)
        book.fault(`/readyz of the ${process.role} said yes while nothing took writes`, `after ${Math.round(at - lost)} ms`);
    }
  }
  for (const process of processes) void look(process);

  const all = (holds: (said: Said) => boolean) => processes.every((process) => {
    const said = last.get(process);
    return said !== undefined && holds(said);
  });
  return {
    async saysNo(gap) {
      lost = gap.from;
      await until('/readyz says no', () => all(({ at, status }) => at > gap.from && status === 503), () => [...last.values()], longestNoSeconds)
        .catch((error: Error) => book.fault('/readyz did not say no', error.message))
        .finally(() => (lost = undefined));
    },
    async saysYes() {
      const from = performance.now();
      await until('/readyz says yes', () => all(({ asked, status }) => asked > from && status === 200), () => [...last.values()], longestBackSeconds)
        .catch((error: Error) => book.fault('/readyz did not say yes again', error.message));
    },
    slowestMs: () => slowestMs,
  };
}
