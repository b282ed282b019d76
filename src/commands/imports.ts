// In charge of the commands that show a school's imports: the list, one report, and who would go with the one that is held.
import { text as readText } from 'node:stream/consumers';
import { requireEstablishment } from '../access/establishments.ts';
import { countLosses, findHeld } from '../collection/held.ts';
import { readFaults } from '../collection/faults.ts';
import { describeWord } from '../collection/foreign-words.ts';
import { describeIgnored, describeShrinkage } from '../collection/import-report.ts';
import { findCollection, listLeaving, type Leaving, type LeavingAsked } from '../collection/leaving.ts';
import type { Problem } from '../collection/problem.ts';
import { renderProblemsCsv } from '../collection/problems-csv.ts';
import { listImports, requireRun, type ImportRun } from '../collection/source-view.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { optionalText, text, type Command } from './command.ts';
import { renderPairs, renderTable } from './table.ts';

const estab = { value: '<id>', help: 'the establishment', required: true } as const;
const [listed, listedLeaving] = [50, 1000] as const;

export const importCommands: readonly Command[] = [
  {
    name: 'import list',
    effect: 'reads',
    help: `Lists the imports of a school, newest first, ${listed} at a time.`,
    options: { estab, before: { value: '<import>', help: 'those before this one' } },
    async run({ db }, given) {
      const { estab: known } = await requireEstablishment(db, text(given, 'estab'));
      const data = await listImports(db, known, { before: optionalText(given, 'before'), most: listed });
      return {
        data,
        lines: renderTable(
          data,
          [
            { title: 'Import', of: ({ id }) => id },
            { title: 'Began', of: ({ startedAt }) => startedAt },
            { title: 'How', of: ({ kind }) => kind },
            { title: 'Outcome', of: ({ outcome, decision }) => (decision === null ? outcome : `${outcome}, ${decision}`) },
            { title: 'Version', of: ({ version }) => version, right: true },
            { title: 'Added', of: ({ added }) => added, right: true },
            { title: 'Changed', of: ({ changed }) => changed, right: true },
            { title: 'Removed', of: ({ removed }) => removed, right: true },
            { title: 'Rejected', of: ({ rejected }) => rejected, right: true },
            { title: 'Problems', of: ({ problemsTotal }) => problemsTotal, right: true },
          ],
          'nothing was imported yet',
        ),
      };
    },
  },
  {
    name: 'import show',
    effect: 'looks',
    help: 'Shows the report of one import, with what was wrong by rule.',
    positional: { name: '<import>', help: 'its id, from import list' },
    options: { estab, problems: { value: undefined, help: 'all that was wrong with it, one by one, as a CSV' } },
    async run({ db }, given) {
      const { estab: known } = await requireEstablishment(db, text(given, 'estab'));
      const [id = '', ...more] = given.positionals;
      if (more.length > 0) throw new SchoolbellError('invalid_request', 'give one import at a time');
      const run = await requireRun(db, known, id);
      if (given.options.problems === true) return { data: await listFaults(db, known, run), lines: [await writeProblems(db, known, run)] };
      const { outcome, added, changed, removed, unchanged, rejected, version, faults, words = [] } = run.report;
      return {
        data: run,
        lines: [
          ...renderPairs({ import: run.id, outcome, decision: run.decision ?? 'none', added, changed, removed, unchanged, rejected, version }),
          '',
          ...renderTable(
            faults,
            [
              { title: 'File', of: ({ file }) => file },
              { title: 'Column', of: ({ column }) => column },
              { title: 'Rule', of: ({ rule }) => rule },
              { title: 'How many', of: ({ count }) => count, right: true },
              { title: 'Lines', of: ({ lines }) => lines.join(', ') },
            ],
            'nothing was wrong with it',
          ),
          ...words.map(describeWord),
          ...describeIgnored(run.report),
        ],
      };
    },
  },
  {
    name: 'import held',
    effect: 'looks',
    help: `Shows why an import waits for approval, and what it would delete; of one collection the first ${listedLeaving}, by name or id.`,
    options: {
      estab,
      collection: { value: '<name>', help: 'one by one: users, classes …' },
      role: { value: '<role>', help: 'users of one role' },
      search: { value: '<words>', help: 'part of a name or an id', secret: true },
      after: { value: '<sourcedId>', help: 'those after this one', secret: true },
    },
    async run({ db }, given) {
      const { estab: known } = await requireEstablishment(db, text(given, 'estab'));
      const held = await findHeld(db, known);
      if (!held) throw new SchoolbellError('conflict', `no import of ${known} waits for approval`);
      const name = optionalText(given, 'collection');
      const collection = name === undefined ? undefined : findCollection(name);
      if (name !== undefined && !collection) throw new SchoolbellError('invalid_request', `--collection "${name}": there is no such collection`);
      const [role, search, after] = ['role', 'search', 'after'].map((option) => optionalText(given, option));
      const leaving = collection && (await findLeaving(db, known, held.id, { collection, role, search, after, most: listedLeaving }));
      const losses = await countLosses(db, known, held.id);
      return {
        data: { ...held, losses, ...(leaving ? { leaving } : {}) },
        lines: [
          `import ${held.id} waits for approval: ${describeShrinkage(held.shrinkage)}`,
          '',
          ...(leaving
            ? renderTable(
                leaving,
                [
                  { title: 'Id', of: ({ sourcedId }) => sourcedId },
                  { title: 'Role', of: (one) => (one.loses ? `loses ${one.loses.join(', ')}` : one.role) },
                  { title: 'Name', of: (one) => one.name },
                ],
                'nobody of these',
              )
            : renderTable(
                losses,
                [
                  { title: 'Collection', of: (one) => one.collection },
                  { title: 'Role', of: (one) => (one.stays ? `loses ${one.role}` : one.role) },
                  { title: 'Would be deleted', of: ({ total }) => total, right: true },
                ],
                'nobody',
              )),
        ],
      };
    },
  },
];

/** A page seeks among so many at once, a command goes on until it has them. */
async function findLeaving(db: Db, estab: string, run: string, asked: LeavingAsked): Promise<Leaving[]> {
  const found: Leaving[] = [];
  for (let after = asked.after; ; ) {
    const { leaving, next } = await listLeaving(db, estab, run, { ...asked, after, most: asked.most - found.length });
    found.push(...leaving);
    if (next === undefined || found.length >= asked.most) return found;
    after = next;
  }
}

async function listFaults(db: Db, estab: string, { id, report }: ImportRun): Promise<Problem[]> {
  const faults: Problem[] = [];
  for await (const fault of readFaults(db, estab, id, report.problems)) faults.push(fault);
  return faults;
}

/** For a file that somebody sends it to: a terminal needs no mark of its bytes. */
async function writeProblems(db: Db, estab: string, run: ImportRun): Promise<string> {
  return (await readText(renderProblemsCsv(db, estab, run))).replace(/^\uFEFF/, '').trimEnd();
}
