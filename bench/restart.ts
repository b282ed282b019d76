// In charge of the figure of a restart under load: PostgreSQL is restarted while pages, filters and lists are asked for,
// and the longest answer counts. Nobody may be left without one.
import { readPidFile } from '../src/db/embedded-server.ts';
import type { Bench } from './bench.ts';

const readers = 16;
const seconds = 8;
const restartAfterMs = 2_000;
const longestGoalMs = 15_000;

export async function benchRestart(bench: Bench): Promise<void> {
  const root = '/ims/oneroster/v1p1';
  const paths = ['/users?limit=100', "/users?limit=10&filter=familyName~'a'", '/orgs', '/classes?limit=1000'];
  const counts = new Map<number, number>();
  const end = performance.now() + seconds * 1000;
  let longest = 0;
  let backAfter: number | undefined;
  let restartedAt: number | undefined;

  const restart = setTimeout(() => {
    const pid = readPidFile(bench.place)?.pid;
    if (pid === undefined) return;
    restartedAt = performance.now();
    process.kill(pid, 'SIGINT');
  }, restartAfterMs);
  await Promise.all(Array.from({ length: readers }, async (_, reader) => {
    for (let at = reader; performance.now() < end; at += 1) {
      const begun = performance.now();
      const response = await fetch(bench.url + root + (paths[at % paths.length] ?? ''), { headers: { authorization: `Bearer ${bench.token}` } });
      await response.arrayBuffer();
      longest = Math.max(longest, performance.now() - begun);
      counts.set(response.status, (counts.get(response.status) ?? 0) + 1);
      if (response.status !== 200) backAfter = undefined;
      else if (restartedAt !== undefined) backAfter ??= performance.now() - restartedAt;
      // As a client does that was told to come back.
      if (response.status !== 200) await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }));
  clearTimeout(restart);
  const said = [...counts]
    .toSorted(([one], [other]) => one - other)
    .map(([status, count]) => `${count} of ${status}`)
    .join(', ');
  bench.add(
    'PostgreSQL restarted under load: longest answer',
    `${Math.round(longest)} ms (${said}; whole again after ${Math.round(backAfter ?? Number.NaN)} ms)`,
    `<= ${longestGoalMs} ms`,
    longest <= longestGoalMs,
  );
}
