// In charge of the commands that look into a roster: somebody is found, a record is shown as it is or as an application sees it,
// and the marks of a pupil are listed.
import { requireEstablishment } from '../access/establishments.ts';
import { describeOrigin, findFirstSeen } from '../collection/record-history.ts';
import { SchoolbellError } from '../errors.ts';
import { collections } from '../roster/collections.ts';
import type { Resource } from '../roster/resource.ts';
import { describeWhole, describeWhy } from '../rostering/explain-sight.ts';
import { findableKinds, findRecords, mostFound } from '../rostering/find-records.ts';
import { describeKind, describeRole, manyOfKind } from '../rostering/kind-words.ts';
import { readStates, type ShownState } from '../rostering/record-states.ts';
import { readRelated, relationsOf, type Related } from '../rostering/related-records.ts';
import { listOnlookers, seeAll, seeAsApplication } from '../rostering/see-as-application.ts';
import { isMonth, readPupilMarks } from '../schooldata/pupil-marks.ts';
import { localDate } from '../schooldata/school-day.ts';
import { optionalText, text, type Command, type Context, type Given, type Outcome } from './command.ts';
import { renderPairs, renderTable, type Cell } from './table.ts';

const estab = { value: '<id>', help: 'the establishment', required: true } as const;
const collection = { value: '<name>', help: `one of ${Object.keys(collections).join(', ')}`, required: true } as const;
const relatedOfEach = 50;

export const rosterLookCommands: readonly Command[] = [
  {
    name: 'roster find',
    effect: 'looks',
    help: `Finds people, classes and what else a roster has, ${mostFound} at a time: by the beginning of a name, of two names in either order, or of an id.`,
    positional: { name: '<words>', help: 'what it begins with', secret: true },
    options: {
      estab,
      kind: { value: '<kind>', help: `one of ${findableKinds.join(', ')}` },
      after: { value: '<place>', help: 'where the next ones begin, as the answer before has said', secret: true },
    },
    async run({ db }, given) {
      const { estab: known } = await requireEstablishment(db, text(given, 'estab'));
      const asked = optionalText(given, 'kind');
      const kind = findableKinds.find((one) => one === asked);
      if (asked !== undefined && kind === undefined)
        throw new SchoolbellError('invalid_request', `--kind "${asked}": must be one of ${findableKinds.join(', ')}`);
      const after = text(given, 'after');
      const found = await findRecords(db, known, given.positionals.join(' '), kind, after);
      return {
        data: { ...found, next: found.next ?? null, more: found.next !== undefined },
        lines: [
          ...renderTable(
            found.records,
            [
              { title: 'Name', of: (one) => one.name, most: 40 },
              { title: 'Kind', of: (one) => describeKind(one.collection, one.kind) },
              { title: 'Role', of: (one) => describeRole(one.role) },
              { title: 'Year', of: (one) => one.grades?.join(', ') },
              { title: 'Status', of: (one) => one.status },
              { title: 'Collection', of: (one) => one.collection },
              { title: 'Id', of: (one) => one.sourcedId },
            ],
            after === '' ? 'nothing begins like that' : 'there are no more',
          ),
          ...(found.next === undefined ? [] : [`there are more; go on with --after ${quote(found.next)}`]),
        ],
      };
    },
  },
  {
    name: 'roster show',
    effect: 'looks',
    help: 'Shows a record of a roster: its fields, what refers to it, where it came from, who sees it; or what an application sees of it, and why not more.',
    positional: { name: '<sourcedId>', help: 'the record', record: true },
    options: { estab, collection, as: { value: '<rp>', help: 'as this application sees it' } },
    async run(context, given) {
      const subject = await requireRecord(context, given);
      const rp = optionalText(given, 'as');
      return rp === undefined ? showRecord(context, subject) : showAs(context, subject, rp);
    },
  },
  {
    name: 'roster marks',
    effect: 'looks',
    help: 'Shows the attendance marks of a pupil in one month: what each means, when it came and who wrote it.',
    positional: { name: '<sourcedId>', help: 'the pupil', record: true },
    options: { estab, month: { value: '<YYYY-MM>', help: 'the newest that has marks, unless given' } },
    async run(context, given) {
      const { db } = context;
      const school = await requireEstablishment(db, text(given, 'estab'));
      const month = text(given, 'month');
      if (month !== '' && !isMonth(month)) throw new SchoolbellError('invalid_request', `--month "${month}": not a month such as 2026-11`);
      const { sourcedId } = await requireRecord(context, { ...given, options: { ...given.options, collection: 'users' } });
      const data = await readPupilMarks(db, school.estab, sourcedId, month, localDate(new Date(), school.timeZone));
      return {
        data,
        lines: renderTable(
          data.marks,
          [
            { title: 'Day', of: (one) => one.date },
            { title: 'Session', of: (one) => one.session },
            { title: 'Mark', of: (one) => one.mark ?? 'taken back' },
            { title: 'Late', of: (one) => one.minutesLate, right: true },
            { title: 'Written', of: (one) => one.at },
            { title: 'By', of: (one) => one.by?.rp },
            { title: 'Meaning', of: (one) => one.meaning },
            { title: 'Notes', of: (one) => one.notes },
          ],
          `there are no marks in ${data.month}`,
        ),
      };
    },
  },
];

/** As a shell takes it, whatever an id is made of. */
const quote = (word: string) => (/^[\w.-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

type Subject = { estab: string; resource: Resource; sourcedId: string; state: ShownState };

async function requireRecord({ db, config }: Context, given: Given): Promise<Subject> {
  const { estab: known } = await requireEstablishment(db, text(given, 'estab'));
  const name = text(given, 'collection');
  const resource = Object.values(collections).find((one) => one.collection === name);
  if (!resource) throw new SchoolbellError('invalid_request', `--collection "${name}": must be one of ${Object.keys(collections).join(', ')}`);
  const [sourcedId, ...more] = given.positionals;
  if (sourcedId === undefined || more.length > 0) throw new SchoolbellError('invalid_request', 'give exactly one sourcedId');
  const { states: [state] } = await readStates(db, config.publicUrl, known, resource, sourcedId, { most: 1 });
  if (!state) throw new SchoolbellError('not_found', `${known} has no record "${sourcedId}" among its ${name}, nor is there one in its history`);
  return { estab: known, resource, sourcedId, state };
}

async function showRecord({ db, config }: Context, { estab: known, resource, sourcedId, state }: Subject): Promise<Outcome> {
  const asked = { estab: known, collection: resource.collection, sourcedId };
  const related = [];
  for (const relation of relationsOf(resource.collection)) {
    const { records, next } = await readRelated(db, known, relation, sourcedId, relatedOfEach);
    related.push({ name: relation.name, collection: relation.collection, records, more: next !== undefined });
  }
  const first = await findFirstSeen(db, known, resource, sourcedId);
  const onlookers = state.until === null ? await listOnlookers(db, { ...asked, kind: state.kind, kinds: state.kinds }) : [];
  const { record, ...origin } = state;
  const fields = Object.entries(record).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)] as const);
  return {
    data: { record, state: origin, firstSeen: first ?? null, related, onlookers, dialects: await seeAll(db, config.publicUrl, asked) },
    lines: [
      ...renderPairs(Object.fromEntries<Cell>([...fields, ['came from', describeOrigin(state.origin)], ['first seen', first?.at ?? 'before what is kept']])),
      ...related.flatMap(({ name, records, more }) => [
        ...records.map((one) => `${name}: ${describeRelated(one)}`),
        ...(more ? [`${name}: and more`] : []),
      ]),
      ...onlookers.map(({ rp, whole }) => `${rp}: ${describeWhole(whole, manyOfKind)}`),
    ],
  };
}

function describeRelated({ other, name, sourcedId }: Related): string {
  return other ? `${other.name} (${other.collection} ${other.sourcedId})` : `${name} (${sourcedId})`;
}

async function showAs({ db, config }: Context, { estab: known, resource, sourcedId, state }: Subject, rp: string): Promise<Outcome> {
  const asked = { estab: known, collection: resource.collection, sourcedId, kind: state.kind, kinds: state.kinds };
  const sight = await seeAsApplication(db, config.publicUrl, rp, asked);
  return {
    data: sight,
    lines: [
      `${rp}: ${sight.state}; scopes ${sight.scopes.join(', ') || 'none'}`,
      ...sight.dialects.flatMap(({ title, whole, fields }) => [
        '',
        `${title}: ${describeWhole(whole, manyOfKind)}`,
        ...fields.map(({ name, value, why }) =>
          `  ${name}: ${why.is === 'given' ? JSON.stringify(value) : `${value === undefined ? '' : `${JSON.stringify(value)} `}(${describeWhy(why)})`}`),
      ]),
    ],
  };
}
