// In charge of how the outcome of a drill is said: its figures as tables, then what was wrong.
import type { DrillReport } from '../../test/failover/drill.ts';

type Row = readonly (string | number)[];

/** Characters: some have a whole answer in them. */
const longestFault = 500;
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

export function renderReport(way: string, report: DrillReport): string {
  const { kills, refusals, acknowledged, found, deliveries, repetitions, requests, errors, faults } = report;
  const outcome: Row[] = [
    [`Drill through ${way}`, ''],
    ['servers that led and were lost', kills],
    ['longest time without a write', seconds(report.longestGapMs)],
    ['of which after another took writes', seconds(report.longestAfterPromotionMs)],
    ['acknowledged by Schoolbell', acknowledged],
    ['of these found at the end', found],
    ['requests told to come again', refusals],
    ['deliveries', deliveries],
    ['of these again under the same id', repetitions],
    ['slowest word of /readyz', seconds(report.slowestReadyMs)],
  ];
  const statuses = ({ statuses }: DrillReport['requests'][string]) => Object.entries(statuses).map(([status, times]) => `${times} × ${status}`).join(', ');
  const asked: Row[] = [['Requests', 'slowest', 'answers'], ...Object.entries(requests).map(([name, of]) => [name, seconds(of.slowestMs), statuses(of)])];
  const logged = Object.entries(errors).flatMap(([role, counts]) => Object.entries(counts).map(([words, times]): Row => [role, times, words]));
  const tables = [outcome, asked, ...(logged.length > 0 ? [[['Errors in logs', 'times', 'words'], ...logged]] : [])].map(renderTable);
  const said = faults.length === 0 ? 'Nothing was wrong.' : ['What was wrong:', ...faults.map((fault) => `- ${fault.slice(0, longestFault)}`)].join('\n');
  return ['', ...tables, `${said}\n`].join('\n');
}

/** The first row is the heading; the last column may be as long as it likes. */
function renderTable(rows: readonly Row[]): string {
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => String(row[at] ?? '').length))) ?? [];
  const lines = rows.map((row) => row.map((cell, at) => (at === row.length - 1 ? String(cell) : String(cell).padEnd((widths[at] ?? 0) + 2))).join(''));
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}
