// In charge of the commands that decide about an import that is held.
import { requireEstablishment } from '../access/establishments.ts';
import { collectDatabase } from '../collection/collect.ts';
import { MisError } from '../collection/connector.ts';
import { approveHeld, discardHeld, findHeld, listLosses, type HeldImport, type Loss } from '../collection/held.ts';
import type { ImportReport } from '../collection/import-report.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { withConnectors } from './collect.ts';
import { text, type Command, type Outcome } from './command.ts';
import { startProgressLine } from './progress-line.ts';
import { renderPairs, renderTime } from './table.ts';

const options = { estab: { value: '<id>', help: 'the establishment', required: true } } as const;
const printedNames = 10;

export const heldCommands: readonly Command[] = [
  {
    name: 'import approve',
    effect: 'changes',
    help: 'Approves an import that is held: exactly what would go is let go.',
    options,
    async run(context, given) {
      const { db, config } = context;
      const { estab } = await requireEstablishment(db, text(given, 'estab'));
      await requireHeld(db, estab);
      const seen = await db.begin((tx) => approveHeld(tx, estab));
      const progress = startProgressLine('import approve');
      const how = { ...seen, force: false, full: true, shrinkLimitPercent: config.shrinkLimitPercent, onProgress: progress.show };
      try {
        const trouble = await withConnectors(context, (parts) => collectDatabase(parts, estab, 'SchoolData', how)).finally(progress.end);
        const report = await readLast(db, estab);
        const held = trouble?.held ? `${trouble.message}; these are others than those that you approved` : trouble?.message;
        return { data: report, lines: [describe(report)], ...(held === undefined ? {} : { failed: held }) };
      } catch (error) {
        if (!(error instanceof MisError)) throw error;
        return { data: { estab }, lines: [], failed: `approved, but it could not be collected: ${error.message}` };
      }
    },
  },
  {
    name: 'import discard',
    effect: 'changes',
    help: 'Discards an import that is held: the package is dropped, and what is there stays.',
    options,
    async destroys({ db }, given) {
      const { estab } = await requireEstablishment(db, text(given, 'estab'));
      const { id, at, kind } = await requireHeld(db, estab);
      const packages = (await db`select from upload where estab = ${estab}`).length;
      return {
        what: `the import of ${estab} that is held since ${renderTime(at)}`,
        data: { estab, id, at, kind, packages },
        lines: renderPairs({ packages }),
        again: true,
      };
    },
    async run({ db }, given): Promise<Outcome> {
      const { estab } = await requireEstablishment(db, text(given, 'estab'));
      await requireHeld(db, estab);
      const { id, at, kind } = await discardHeld(db, estab);
      return { data: { estab, id, at, kind }, lines: [`the import of ${renderTime(at)} was discarded; nothing was changed`] };
    },
  },
];

async function requireHeld(db: Db, estab: string): Promise<HeldImport> {
  const held = await findHeld(db, estab);
  if (!held) throw new SchoolbellError('conflict', `nothing is held: no import of ${estab} waits for a decision`);
  return held;
}

async function readLast(db: Db, estab: string): Promise<ImportReport> {
  const [run] = await db<{ report: ImportReport }[]>`select report from import_run where estab = ${estab} order by finished_at desc limit 1`;
  if (!run) throw new Error(`there is no report for ${estab}`);
  return run.report;
}

const describe = ({ outcome, added, changed, removed, unchanged, version }: ImportReport) =>
  outcome === 'held' || outcome === 'refused'
    ? `${outcome}; the roster is still at version ${version}`
    : `added ${added}, changed ${changed}, removed ${removed}, unchanged ${unchanged}; the roster is at version ${version}`;

/** Who would go, for the one who has to decide. */
export async function describeHeld(db: Db, estab: string): Promise<string[]> {
  const held = await findHeld(db, estab);
  return held ? (await listLosses(db, estab, held.id)).map(describeLoss) : [];
}

function describeLoss({ collection, role, stays, total, names }: Loss): string {
  const shown = names.slice(0, printedNames);
  const more = total - shown.length;
  const way = stays ? 'would lose that role' : 'would go';
  return `${way}: ${total} ${role === null ? '' : `${role} `}${collection}: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
