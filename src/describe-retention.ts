// In charge of saying what is kept and for how long: for the README, and with the periods that are in force.
import type { Config } from './config.ts';
import { keptDays, retainedFiles, retention, type Age } from './retention.ts';

export type Retained = Readonly<{ what: string; howLong: string; purged: string; less: string }>;

const formatDays = (days: number) => (days === 1 ? '1 day' : `${days} days`);

/** lasting: how a number of days is said. */
function listKept(lasting: (days: Age['days'], namesPeople: boolean) => string): Retained[] {
  return [
    ...retention.map(({ what, ends, purged, less }) => ({
      what,
      howLong: 'days' in ends ? `${lasting(ends.days, ends.namesPeople)} after ${ends.after}` : ends.until,
      purged: purged?.words ?? '–',
      less,
    })),
    {
      what: retainedFiles.what,
      howLong: `${lasting(retainedFiles.days, true)} after ${retainedFiles.after}`,
      purged: retainedFiles.purged,
      less: retainedFiles.less,
    },
  ];
}

/** With the periods that are in force here. */
export function listRetained(config: Pick<Config, 'purgeAfterDays'>): Retained[] {
  const inForce = formatDays(config.purgeAfterDays);
  return listKept((days, namesPeople) => formatDays(keptDays(days, namesPeople, config))).map((kept) => ({
    ...kept,
    howLong: kept.howLong.replaceAll('`PURGE_AFTER_DAYS`', inForce),
  }));
}

/** The table of the README. */
export function renderRetention(): string {
  const rows = listKept((days) => (days === 'purge' ? '`PURGE_AFTER_DAYS`' : formatDays(days))).map(({ what, howLong, purged, less }) => [
    what, howLong, purged, less,
  ]);
  const head = ['What', 'How long', 'When its person is purged', 'Who can ask for less'];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
