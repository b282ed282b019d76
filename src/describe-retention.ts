// In charge of saying what is kept and for how long: for docs/what-is-kept.md, and with the periods that are in force.
import { keptMarksFiles } from './collection/connectors/csv/forget-marks-files.ts';
import type { Config } from './config.ts';
import { keptDays, type Age } from './kept.ts';
import { retention } from './retention.ts';
import { keptLists } from './roster/sweep-lists.ts';

/** where: tables. days: how many, where it is so many after something. */
export type Retained = Readonly<{ what: string; where: readonly string[]; days: number | undefined; howLong: string; purged: string; less: string }>;
type Lasting = number | string;

const formatDays = (days: number) => (days === 1 ? '1 day' : `${days} days`);

/** lasting: a number of days, or what says it. */
function listKept(lasting: (days: Age['days'], namesPeople: boolean) => Lasting): Retained[] {
  const describe = (lasts: Lasting, after: string) => ({
    days: typeof lasts === 'number' ? lasts : undefined,
    howLong: `${typeof lasts === 'number' ? formatDays(lasts) : lasts} after ${after}`,
  });
  return [
    ...retention.map(({ what, where, ends, purged, less }) => ({
      what,
      where,
      ...('days' in ends ? describe(lasting(ends.days, ends.namesPeople), ends.after) : { days: undefined, howLong: ends.until }),
      purged: purged?.words ?? '–',
      less,
    })),
    {
      what: keptMarksFiles.what,
      where: [],
      ...describe(lasting(keptMarksFiles.days, true), keptMarksFiles.after),
      purged: keptMarksFiles.purged,
      less: keptMarksFiles.less,
    },
    { ...keptLists, where: [], days: undefined },
  ];
}

/** With the periods that are in force here. */
export function listRetained(config: Pick<Config, 'purgeAfterDays'>): Retained[] {
  const inForce = formatDays(config.purgeAfterDays);
  return listKept((days, namesPeople) => keptDays(days, namesPeople, config)).map((kept) => ({
    ...kept,
    howLong: kept.howLong.replaceAll('`PURGE_AFTER_DAYS`', inForce),
  }));
}

/** The table of docs/what-is-kept.md. */
export function renderRetention(): string {
  const rows = listKept((days) => (days === 'purge' ? '`PURGE_AFTER_DAYS`' : days)).map(({ what, howLong, purged, less }) => [
    what, howLong, purged, less,
  ]);
  const head = ['What', 'How long', 'When its person is purged', 'Who can ask for less'];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
