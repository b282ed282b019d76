// In charge of the people of a 1.2 package, who stand in three files: their rows are brought together by person, one partition at a
// time, so that memory stays flat however many they are.
import { collections } from '../../../roster/collections.ts';
import type { PersonPart } from '../../person-parts.ts';
import { openPartitions, type Partitions } from '../../partitions.ts';
import { numberOfPlace } from '../../place.ts';
import type { Problems } from '../../problem.ts';
import type { Around, LiveRoster, Mode, RejectedRow, SourceBatch, SourceRow } from '../../source.ts';
import { joinPerson, orgsOf, type Beside, type GivenPerson } from './join-person.ts';
import type { PackageFile } from './package.ts';
import { personColumn, profileRows, readItem, roleRows, type ItemRow, type PersonFile } from './person-files.ts';
import { readRows } from './read-rows.ts';

/** Organisations of the package, with their types as far as they could be read. */
export type PackedOrgs = Readonly<{ mode: Mode | undefined; types: ReadonlyMap<string, string | undefined> }>;

export type PeopleFiles = Readonly<{
  mode: Mode;
  users: PackageFile | undefined;
  roles: PackageFile | undefined;
  profiles: PackageFile | undefined;
  /** Known when these are read. */
  orgs: PackedOrgs;
  onBytes: (count: number) => void;
}>;

type Entry = Readonly<{ row: SourceRow } | { rejected: RejectedRow } | { item: ItemRow } | { broken: RejectedRow }>;
type Numbered = Pick<ItemRow, 'file' | 'line' | 'id' | 'person' | 'status'>;
type Parts = Readonly<{ entries: Partitions<Entry & { of: string }>; ids: Partitions<Numbered> }>;

/** So many are looked up in the roster at once. */
const peopleAtOnce = 2_000;
/** For what is new among these, everybody is looked through. */
const itemsAtOnce = 20_000;

export async function* readPeople(files: PeopleFiles, problems: Problems, { live, openSpool }: Around): AsyncGenerator<SourceBatch> {
  const present = [files.users, files.profiles, files.roles].reduce((sum, file) => sum + (file?.size ?? 0), 0);
  const parts: Parts = { entries: await openPartitions(present, openSpool), ids: await openPartitions(present, openSpool) };
  const count = { users: 0, profiles: 0 };
  if (files.users) {
    for await (const { batch, rows } of partUsers(files, files.users, parts, problems)) {
      count.users += rows;
      yield batch;
    }
  }
  // Nobody is left, so the roles and profiles are nobody's.
  if (files.users && files.mode === 'bulk' && count.users === 0) return;
  if (files.profiles) {
    for await (const { batch, rows } of partItems(files, files.profiles, profileRows, parts, problems)) {
      count.profiles += rows;
      yield batch;
    }
  }
  if (files.roles) for await (const { batch } of partItems(files, files.roles, roleRows, parts, problems)) yield batch;
  await compareIds(parts, files, live, problems);
  const joined: Joined = { ...files, saysProfiles: count.profiles > 0 };
  for await (const entries of parts.entries.read()) {
    const people = [...gather(entries).values()];
    for (let from = 0; from < people.length; from += peopleAtOnce) yield await joinSome(people.slice(from, from + peopleAtOnce), joined, live, problems);
  }
}

type PartRead = Readonly<{ batch: SourceBatch; rows: number }>;
/** saysProfiles: a file that is absent, or has no rows, says nothing of anybody's. */
type Joined = PeopleFiles & Readonly<{ saysProfiles: boolean }>;

/** Rows of which nobody knows whose they are come out at once; the others when all is known of their person. */
async function* partUsers({ mode, onBytes }: PeopleFiles, file: PackageFile, { entries }: Parts, problems: Problems): AsyncGenerator<PartRead> {
  for await (const rows of readRows({ checked: collections.users, mode, file, edition: 'v1p2', onBytes }, problems)) {
    const lost: RejectedRow[] = [];
    for (const read of rows) {
      if ('row' in read) entries.add(read.row.sourcedId, { of: read.row.sourcedId, row: read.row });
      else if (read.rejected.sourcedId === undefined) lost.push(read.rejected);
      else entries.add(read.rejected.sourcedId, { of: read.rejected.sourcedId, rejected: read.rejected });
    }
    await entries.flush();
    yield { batch: { rows: [], rejected: lost }, rows: rows.length };
  }
}

async function* partItems({ mode, onBytes }: PeopleFiles, from: PackageFile, kind: PersonFile, parts: Parts, problems: Problems): AsyncGenerator<PartRead> {
  const { entries, ids } = parts;
  for await (const rows of readRows({ checked: kind.checked, mode, file: from, edition: 'v1p2', onBytes }, problems)) {
    const lost: RejectedRow[] = [];
    for (const read of rows) {
      if ('row' in read) {
        const item = readItem(kind, read.row);
        entries.add(item.person, { of: item.person, item });
        const { file, line, id, person, status } = item;
        ids.add(id, { file, line, id, person, status });
        continue;
      }
      const { line, fault, sourcedId: id } = read.rejected;
      const { file } = kind.checked;
      const person = read.cellOf(personColumn) || undefined;
      const broken: RejectedRow = { line: numberOfPlace({ file, line }), sourcedId: person, fault, parts: id === undefined ? [] : [{ file, id }] };
      if (person === undefined) lost.push({ ...broken, ofNobody: true });
      else entries.add(person, { of: person, broken });
    }
    await entries.flush();
    await ids.flush();
    yield { batch: { rows: [], rejected: lost }, rows: rows.length };
  }
}

/** An id is of one person alone: two rows may have it, or the roster may have it at somebody else. */
async function compareIds({ entries, ids }: Parts, { mode }: PeopleFiles, live: LiveRoster, problems: Problems): Promise<void> {
  for await (const rows of ids.read()) {
    findTwice(rows, entries, problems);
    await problems.flush();
    await entries.flush();
    if (mode === 'bulk') continue;
    const given = rows.filter(({ status }) => status === 'active');
    for (const { part } of [roleRows, profileRows]) await findMoved(given.filter(({ file }) => file === part.file), part, entries, live);
  }
}

function findTwice(rows: readonly Numbered[], entries: Parts['entries'], problems: Problems): void {
  const seen = new Map<string, number>();
  for (const { file, line, id, person } of rows) {
    const key = `${file} ${id}`;
    const before = seen.get(key);
    if (before === undefined) {
      seen.set(key, line);
      continue;
    }
    problems.add({ file, line, column: 'sourcedId', value: id, rule: `must be unique; line ${before} has it already` });
    entries.add(person, { of: person, broken: { line: numberOfPlace({ file, line }), sourcedId: person, fault: problems.total } });
  }
}

/** What a row gives to somebody is taken from whoever has it. */
async function findMoved(rows: readonly Numbered[], part: PersonPart, entries: Parts['entries'], live: LiveRoster): Promise<void> {
  for (let from = 0; from < rows.length; from += itemsAtOnce) {
    const some = new Map(rows.slice(from, from + itemsAtOnce).map((row) => [row.id, row]));
    for (const { id, holder } of await live.holders(part, [...some.values()])) {
      const row = some.get(id);
      if (row && row.person !== holder) entries.add(holder, { of: holder, item: { ...row, person: holder, status: 'tobedeleted', item: {}, moved: true } });
    }
    await entries.flush();
  }
}

function gather(entries: readonly (Entry & { of: string })[]): Map<string, GivenPerson> {
  const people = new Map<string, GivenPerson>();
  for (const entry of entries) {
    const person = people.get(entry.of) ?? { id: entry.of, rows: [], rejected: [], items: [], broken: [] };
    people.set(entry.of, person);
    if ('row' in entry) person.rows.push(entry.row);
    else if ('rejected' in entry) person.rejected.push(entry.rejected);
    else if ('item' in entry) person.items.push(entry.item);
    else person.broken.push(entry.broken);
  }
  return people;
}

/** No row of users.csv is of this person. */
const isStray = ({ rows, rejected }: GivenPerson) => rows.length === 0 && rejected.length === 0;

async function joinSome(people: readonly GivenPerson[], files: Joined, live: LiveRoster, problems: Problems): Promise<SourceBatch> {
  const { mode, users, orgs, saysProfiles } = files;
  const asked = people.filter((one) => mode === 'delta' || isStray(one) || one.rows.some(({ status }) => status === 'tobedeleted')).map(({ id }) => id);
  const known = asked.length > 0 ? await live.people(asked) : undefined;
  const profiles = mode === 'bulk' && !saysProfiles ? await live.profiles(people.map(({ id }) => id)) : undefined;
  // A file without rows says nothing.
  const orgsMode = orgs.types.size === 0 ? undefined : orgs.mode;
  const named = people.flatMap(({ id, items }) => [...items.map(({ item }) => String(item.org)), ...orgsOf(known?.get(id))]);
  const missing = [...new Set(named)].filter((org) => !orgs.types.has(org));
  const liveTypes = missing.length > 0 && (orgsMode !== 'bulk' || asked.length > 0) ? await live.orgTypes(missing) : undefined;
  const findOrg: Beside['findOrg'] = (id, status) => {
    if (orgs.types.has(id)) return { type: orgs.types.get(id) };
    // A bulk file replaces all of them, but who leaves may have been at one that is about to go.
    const stays = orgsMode !== 'bulk' || status === 'tobedeleted';
    return stays && liveTypes?.has(id) ? { type: liveTypes.get(id) } : undefined;
  };
  const batch: SourceBatch = { rows: [], rejected: [] };
  for (const person of people) {
    const had = profiles?.get(person.id);
    const beside: Beside = { mode, saysProfiles, hasUsers: users !== undefined, hasOrgs: orgsMode !== undefined, had, live: known?.get(person.id), findOrg };
    const { rows, rejected } = joinPerson(person, beside, (problem) => {
      problems.add(problem);
      return problems.total;
    });
    batch.rows.push(...rows);
    batch.rejected.push(...rejected);
  }
  return batch;
}
