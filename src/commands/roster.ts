// The commands that import and export rosters.
import { randomUUID } from 'node:crypto';
import { requireEstablishment } from '../access/establishments.ts';
import { MisError } from '../collection/connector.ts';
import { openCsvSource } from '../collection/connectors/csv/csv-source.ts';
import { openPackage } from '../collection/connectors/csv/package.ts';
import { packageFiles } from '../collection/connectors/csv/package-files.ts';
import { exportRoster, type Exported, type ExportOptions } from '../collection/export.ts';
import { describeWord } from '../collection/foreign-words.ts';
import { mayBeForced } from '../collection/deletion-guard.ts';
import { remedyForLargePackage } from '../collection/held.ts';
import { importRoster } from '../collection/import.ts';
import { describeIgnored, describeShrinkage, howToApprove, type ImportReport } from '../collection/import-report.ts';
import { keepHeldPackage, type Keeping } from '../collection/keep-package.ts';
import type { Fault, Problem } from '../collection/problem.ts';
import type { Db } from '../db/connect.ts';
import { explainFileFault } from '../environment-fault.ts';
import { SchoolbellError } from '../errors.ts';
import type { Edition } from '../roster/resource.ts';
import { readRoster } from '../rostering/read-roster.ts';
import { RosterMoved } from '../rostering/roster-facts.ts';
import { optionalText, text, type Command, type Given } from './command.ts';
import { describeHeld, heldCommands } from './held.ts';
import { startProgressLine } from './progress-line.ts';
import { renderTable } from './table.ts';

const estab = { value: '<id>', help: 'the establishment', required: true } as const;
const printedFaults = 50;
const exportedVersions = Object.values(packageFiles).map(({ versions }) => versions[0]);

export const rosterCommands: readonly Command[] = [
  ...heldCommands,
  {
    name: 'import',
    effect: 'changes',
    help: "Imports a OneRoster CSV package, 1.1 or 1.2, into a school's roster, whole or not at all.",
    positional: { name: '<zip or folder>', help: 'the package, with manifest.csv' },
    options: {
      estab,
      partial: { value: undefined, help: 'leave out records that break a rule instead of refusing everything' },
      force: { value: undefined, help: 'approve deletions above the limit, but not a loss that leaves none of a kind' },
    },
    async run({ db, config, largestUpload: largest }, given) {
      const { estab: known, connector } = await requireEstablishment(db, text(given, 'estab'));
      if (connector !== null && connector !== 'csv')
        throw new SchoolbellError(
          'conflict',
          `the data of ${known} comes through ${connector}: collecting it again would undo an import; use: collect --estab ${known}`,
        );
      const id = randomUUID();
      const progress = startProgressLine('import');
      const report = await importRoster(db, async () => openCsvSource(await openPackage(requirePath(given))), {
        estab: known,
        id,
        dataDir: config.dataDir,
        partial: given.options.partial === true,
        force: given.options.force === true,
        shrinkLimitPercent: config.shrinkLimitPercent,
        onProgress: progress.show,
      })
        .catch((error: unknown) => explainImportFault(error, requirePath(given)))
        .finally(progress.end);
      const limits = { dataDir: config.dataDir, ...(largest === undefined ? {} : { largest }) };
      const failed =
        report.outcome === 'held'
          ? describeHeldImport(report, id, await keepHeldPackage(db, known, id, requirePath(given), limits))
          : describeRefusal(report);
      const going = report.outcome === 'held' ? await describeHeld(db, known) : [];
      const words = (report.words ?? []).map(describeWord);
      return {
        data: { id, ...report },
        lines: [...describeFaults(report), ...words, ...describeIgnored(report), ...going, summary(report)],
        ...(failed ? { failed } : {}),
      };
    },
  },
  {
    name: 'export',
    effect: 'looks',
    help: "Writes a school's roster as a OneRoster CSV package: the active records, in bulk form.",
    positional: { name: '<zip>', help: 'the file to write' },
    options: {
      estab,
      oneroster: { value: `<${exportedVersions.join('|')}>`, help: `the edition of OneRoster; ${exportedVersions[0]} unless given` },
      'with-leavers': { value: undefined, help: 'those that left as well: a delta package, in which every record has its status and date' },
    },
    async run({ db }, given) {
      const { estab: known } = await requireEstablishment(db, text(given, 'estab'));
      const path = requirePath(given);
      const leavers = given.options['with-leavers'] === true;
      const { version, collections, leftOut } = await exportWhole(db, known, path, { leavers, edition: requireEdition(given) });
      return {
        data: { estab: known, version, file: path, collections, leftOut },
        lines: [
          ...renderTable(
            Object.entries(collections),
            [
              { title: 'Collection', of: ([name]) => name },
              { title: leavers ? 'Records' : 'Active records', of: ([, count]) => count, right: true },
            ],
            'the roster is empty',
          ),
          ...(leftOut > 0 ? [`left out: ${leftOut} that cannot be without a record that left; --with-leavers has them`] : []),
        ],
      };
    },
  },
];

/** An import may commit in between; the export is then made of the new roster. */
async function exportWhole(db: Db, estab: string, path: string, options: ExportOptions): Promise<Exported & { version: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const reading = await readRoster(db, estab);
    try {
      return { version: reading.version, ...(await exportRoster(reading, path, options)) };
    } catch (error) {
      if (!(error instanceof RosterMoved) || attempt === 3) throw error;
    }
  }
}

function requireEdition(given: Given): Edition {
  const version = optionalText(given, 'oneroster') ?? exportedVersions[0];
  const found = Object.values(packageFiles).find(({ versions }) => versions[0] === version);
  if (!found) throw new SchoolbellError('invalid_request', `--oneroster must be ${exportedVersions.join(' or ')}`);
  return found.edition;
}

function explainImportFault(error: unknown, path: string): never {
  if (error instanceof MisError) throw new SchoolbellError('conflict', error.message);
  throw explainFileFault(error, (error as NodeJS.ErrnoException).path ?? path, 'input');
}

function requirePath({ positionals }: Given): string {
  const [path, ...more] = positionals;
  if (path === undefined || more.length > 0) throw new SchoolbellError('invalid_request', 'give exactly one path');
  return path;
}

/** A fault that there is once is named with its value; of a kind of them, how many and where first. */
function describeFaults({ faults, problems }: ImportReport): string[] {
  const lines = faults.slice(0, printedFaults).map((fault) => {
    const only = fault.count === 1 ? problems.find((one) => isOf(one, fault)) : undefined;
    const rows = fault.dependants === 1 ? '1 row that refers' : `${fault.dependants} rows that refer`;
    const fallen = fault.dependants === 0 ? '' : `, and ${rows} to ${only ? 'it' : 'them'}`;
    if (only) return `${describeProblem(only)}${fallen}`;
    const more = fault.count > fault.lines.length ? ', …' : '';
    return `${[fault.file, ...(fault.column === null ? [] : [fault.column])].join(', ')}: ${fault.rule}: ${fault.count} times, lines ` +
      `${fault.lines.join(', ')}${more}${fallen}`;
  });
  return faults.length > printedFaults ? [...lines, `and ${faults.length - printedFaults} more kinds of problems`] : lines;
}

const isOf = (problem: Problem, { file, column, rule }: Fault) => problem.file === file && problem.column === column && problem.rule === rule;

function describeProblem({ file, line, column, value, rule }: Problem): string {
  const where = [file, ...(line === null ? [] : [`line ${line}`]), ...(column === null ? [] : [column])].join(', ');
  return `${where}${value === null ? '' : ` "${value}"`}: ${rule}`;
}

function summary({ added, changed, removed, unchanged, rejected, version }: ImportReport): string {
  return `added ${added}, changed ${changed}, removed ${removed}, unchanged ${unchanged}, rejected ${rejected}; the roster is at version ${version}`;
}

function describeRefusal({ outcome, overtaken, unusable, problemsTotal }: ImportReport): string | undefined {
  // A missing or overtaken package holds no rows that --partial could import.
  const hint = overtaken || unusable ? '' : ' (--partial imports what is right)';
  if (outcome === 'refused') return `refused: ${problemsTotal} problem${problemsTotal === 1 ? '' : 's'}, nothing was changed${hint}`;
  return undefined;
}

/** Explains why an import waits, and how it can be approved. */
function describeHeldImport({ estab: known, shrinkage }: ImportReport, id: string, keeping: Keeping): string {
  const folder = `school edit --estab ${known} --connector csv --folder <path>, then collect --estab ${known}`;
  const ways = [
    {
      kept: howToApprove(known, id),
      'too large': `The package is too large to be stored, so this import cannot be approved. Instead, ${remedyForLargePackage} (${folder})`,
      replaced: 'It has been replaced or decided in the meantime',
    }[keeping],
    shrinkage.every(mayBeForced) ? '--force approves it too' : '--force does not approve a loss that leaves none of a kind',
  ];
  return `import ${id} waits for approval: ${describeShrinkage(shrinkage)}. Nothing was changed. ${ways.join('. ')}`;
}
