// The commands that approve or discard an import that waits for approval.
import { requireEstablishment } from '../access/establishments.ts';
import { collectDatabase } from '../collection/collect.ts';
import { MisError } from '../collection/connector.ts';
import { approveHeld, discardHeld, findHeld, listLosses, type HeldImport, type Loss } from '../collection/held.ts';
import { describeIgnored, describeShrinkage, howToApprove, type ImportReport } from '../collection/import-report.ts';
import { findImportOfFetch } from '../collection/list-collections.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { withConnectors } from './collect.ts';
import { optionalText, text, type Ask, type Command, type Outcome } from './command.ts';
import { startProgressLine } from './progress-line.ts';
import { renderPairs, renderTime } from './table.ts';

const options = { estab: { value: '<id>', help: 'the establishment', required: true } } as const;
const printedNames = 10;

export const heldCommands: readonly Command[] = [
  {
    name: 'import approve',
    effect: 'changes',
    help: 'Approves the import that waits for approval: deletes exactly the records that were recorded when it began to wait.',
    options: {
      ...options,
      import: { value: '<id>', help: 'the import that you have looked at, as school source and import held list it; required outside a terminal' },
    },
    async run(context, given) {
      const { db, config, ask } = context;
      const { estab } = await requireEstablishment(db, text(given, 'estab'));
      const seen = await requireSeen(db, estab, optionalText(given, 'import'), ask);
      const approved = await db.begin((tx) => approveHeld(tx, estab, seen));
      const progress = startProgressLine('import approve');
      const how = { ...approved, force: false, full: true, shrinkLimitPercent: config.shrinkLimitPercent, onProgress: progress.show };
      try {
        const trouble = await withConnectors(context, (parts) => collectDatabase(parts, estab, 'SchoolData', how)).finally(progress.end);
        const report = await readLast(db, estab);
        const { held, report: again } = trouble ?? {};
        const failed =
          held && again
            ? `import ${again} ${trouble?.message}; these are not the deletions that you approved. ${howToApprove(estab, again)}`
            : trouble?.message;
        return { data: report, lines: [...describeIgnored(report), describe(report)], ...(failed === undefined ? {} : { failed }) };
      } catch (error) {
        if (!(error instanceof MisError)) throw error;
        return { data: { estab }, lines: [], failed: `import ${seen} was approved, but the source could not be read: ${error.message}` };
      }
    },
  },
  {
    name: 'import discard',
    effect: 'changes',
    help: 'Discards the import that waits for approval: its upload is deleted, and the roster stays as it is.',
    options,
    async destroys({ db }, given) {
      const { estab } = await requireEstablishment(db, text(given, 'estab'));
      const { id, at, kind } = await requireHeld(db, estab);
      const packages = (await db`select from upload where estab = ${estab}`).length;
      return {
        what: `the import of ${estab} that waits for approval since ${renderTime(at)}`,
        data: { estab, id, at, kind, packages },
        lines: renderPairs({ packages }),
        again: true,
      };
    },
    async run({ db }, given): Promise<Outcome> {
      const { estab } = await requireEstablishment(db, text(given, 'estab'));
      const { id, at, kind } = await discardHeld(db, estab, (await requireHeld(db, estab)).id);
      return { data: { estab, id, at, kind }, lines: [`the import of ${renderTime(at)} was discarded; nothing was changed`] };
    },
  },
];

/** Returns the import that the person has looked at: the one that was named or, on a terminal, the one that is shown now. */
async function requireSeen(db: Db, estab: string, named: string | undefined, ask: Ask): Promise<string> {
  const held = await requireHeld(db, estab);
  if (named !== undefined) return (await findImportOfFetch(db, estab, named)) ?? named;
  if (!ask)
    throw new SchoolbellError(
      'conflict',
      `import ${held.id} of ${estab} waits for approval: ${describeShrinkage(held.shrinkage)}. Nothing was changed. ${howToApprove(estab, held.id)}`,
    );
  const losses = await describeHeld(db, estab);
  const question = [`Import ${held.id} waits for approval: ${describeShrinkage(held.shrinkage)}.`, ...losses, 'Type yes to approve it: '];
  if ((await ask(question.join('\n'))).trim().toLowerCase() !== 'yes')
    throw new SchoolbellError('conflict', `nothing was changed; import ${held.id} still waits for approval`);
  return held.id;
}

async function requireHeld(db: Db, estab: string): Promise<HeldImport> {
  const held = await findHeld(db, estab);
  if (!held) throw new SchoolbellError('conflict', `no import of ${estab} waits for approval`);
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

/** Lists the records that would be deleted, by kind. */
export async function describeHeld(db: Db, estab: string): Promise<string[]> {
  const held = await findHeld(db, estab);
  return held ? (await listLosses(db, estab, held.id)).map(describeLoss) : [];
}

function describeLoss({ collection, role, stays, total, names }: Loss): string {
  const shown = names.slice(0, printedNames);
  const more = total - shown.length;
  const way = stays ? 'would lose that role' : 'would be deleted';
  return `${way}: ${total} ${role === null ? '' : `${role} `}${collection}: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
