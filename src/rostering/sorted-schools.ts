// In charge of lists of several schools that are sorted by a field: each school gives the keys of its records in their order, the keys are
// put together here, and the records are read by their ids, a window at a time. So no more is held than some keys of each school.
import { atOnce } from '../at-once.ts';
import type { ListSource, OpenList } from '../roster/list-source.ts';
import type { Reading } from './by-school.ts';
import { makePlan } from './plan.ts';
import type { Question } from './question.ts';
import { asItStands } from './read-again.ts';
import { findVersion, joinPage, toPieces, type Listed } from './render.ts';
import { compareKeys, toSortKey, type SortKey } from './sort-key.ts';
import { finishOf, listRows, poolFor, readVersions, requireParents, requireSame, type Reader, type Standing } from './statements.ts';
import type { Target } from './visibility.ts';

type Keyed = Readonly<{ sourcedId: string; key: SortKey }>;
type FoundKeys = { standing: Standing | null; parents: boolean; keys: [sourcedId: string, key: unknown][] | null };

const windowSize = 1_000;
const schoolsAtOnce = 4;
/** Keys that are held of all schools together, about; of each school so many at once. */
const keysHeld = 20_000;
const [fewestKeys, mostKeys] = [50, 1_000];

export function sortedSchools(reading: Reading, question: Question, findTotal: () => Promise<number>): ListSource {
  return {
    total: findTotal,
    async page({ limit, offset }, margins) {
      const total = await findTotal();
      const merged = await openMerge(reading, question);
      await merged.skip(offset);
      return { ...joinPage(await readKeyed(reading, question, await merged.take(limit)), margins), total };
    },
    async open({ limit, offset }): Promise<OpenList> {
      const total = await findTotal();
      const merged = await openMerge(reading, question);
      await merged.skip(offset);
      return { total, length: undefined, pieces: toPieces(readWindows(merged, limit ?? Infinity)), close: async () => {} };
    },
  };

  async function* readWindows(merged: Merge, limit: number): AsyncGenerator<Listed[]> {
    for (let left = limit; left > 0; left -= windowSize) {
      const window = await merged.take(Math.min(left, windowSize));
      if (window.length === 0) return;
      yield await reading.prefer((reader) => readKeyed({ ...reading, ...reader }, question, window));
    }
  }
}

type InSchool = Readonly<{ school: School; sourcedId: string }>;
type Merge = { skip(count: number): Promise<void>; take(count: number): Promise<InSchool[]> };

/** Schools by the record that comes next, those that have none left aside. */
async function openMerge(reading: Reading, question: Question): Promise<Merge> {
  const keysAtOnce = Math.min(mostKeys, Math.max(fewestKeys, Math.floor(keysHeld / question.targets.length)));
  const schools = question.targets.map((target) => new School(reading, question, target, keysAtOnce));
  await atOnce(schoolsAtOnce, schools, (school) => school.fill());
  requireParents(schools);
  const descending = question.sort?.descending === true;
  const compare = (a: School, b: School) => compareKeys(a.head.key, b.head.key, descending) || (a.place < b.place ? -1 : 1);
  const ahead = schools.filter((school) => !school.isAtEnd).toSorted(compare);
  const walk = async (count: number, visit: (one: InSchool) => unknown) => {
    for (let left = count; left > 0; left -= 1) {
      const school = ahead.shift();
      if (!school) return;
      visit({ school, sourcedId: school.head.sourcedId });
      await school.advance();
      if (!school.isAtEnd) ahead.splice(findPlace(ahead, school, compare), 0, school);
    }
  };
  return {
    skip: (count) => walk(count, () => {}),
    async take(count) {
      const taken: InSchool[] = [];
      await walk(count, (one) => taken.push(one));
      return taken;
    },
  };
}

function findPlace(ahead: readonly School[], school: School, compare: (a: School, b: School) => number): number {
  let [low, high] = [0, ahead.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(ahead[middle] as School, school) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The keys of one school's records in their order, as far as they have been read. */
class School {
  readonly #reading: Reading;
  readonly #question: Question;
  readonly #atOnce: number;
  readonly place: number;
  target: Target;
  parents = false;
  #keys: readonly Keyed[] = [];
  #at = 0;
  #read = 0;
  #isWhole = false;

  constructor(reading: Reading, question: Question, target: Target, keysAtOnce: number) {
    this.#reading = reading;
    this.#question = question;
    this.#atOnce = keysAtOnce;
    this.target = target;
    this.place = question.targets.indexOf(target);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#keys.length;
  }

  get head(): Keyed {
    return this.#keys[this.#at] as Keyed;
  }

  async advance(): Promise<void> {
    this.#at += 1;
    if (this.isAtEnd && !this.#isWhole) await this.fill();
  }

  async fill(): Promise<void> {
    this.#keys = await this.asItStands((target) => this.#reading.prefer((reader) => this.#readKeys(reader, target)));
    this.#at = 0;
    this.#read += this.#keys.length;
    this.#isWhole = this.#keys.length < this.#atOnce;
  }

  /** At the version that is asked for, which others may have replaced since the last look. */
  asItStands<T>(work: (target: Target) => Promise<T>): Promise<T> {
    return asItStands(this.#reading.primary, this.target, (target) => {
      this.target = target;
      return work(target);
    });
  }

  async #readKeys(reader: Reader, target: Target): Promise<readonly Keyed[]> {
    const question = this.#question;
    const versions = await readVersions(reader, target);
    const sql = poolFor(reader, question, target);
    const plan = makePlan(sql, question, target, versions);
    const rows = listRows(sql, plan, undefined, { limit: this.#atOnce, offset: this.#read });
    const [found] = await sql<FoundKeys[]>`
      select ${plan.standing(reader.isReplica)} as standing, ${plan.parentsExist} as parents, page.*
      from (select json_agg(json_build_array(t.sourced_id, ${plan.sortKey})) as keys from (${rows}) t) page`;
    requireSame(reader, target, versions, found);
    this.parents = found?.parents === true;
    const isInstant = question.sort?.path.comparison === 'instant';
    const keyOf = (key: unknown) => toSortKey(isInstant ? findVersion(versions, Number(key))?.instant : key);
    return this.parents ? (found?.keys ?? []).map(([sourcedId, key]) => ({ sourcedId, key: keyOf(key) })) : [];
  }
}

/** In the order in which they are named, one statement for each school. */
async function readKeyed(reader: Reader, question: Question, window: readonly InSchool[]): Promise<Listed[]> {
  const bySchool = [...Map.groupBy(window, ({ school }) => school)];
  const found = await atOnce(schoolsAtOnce, bySchool, async ([school, of]) => {
    const ids = of.map(({ sourcedId }) => sourcedId);
    return [school, await school.asItStands((target) => readByIds(reader, question, target, ids))] as const;
  });
  const records = new Map(found);
  return window.map(({ school, sourcedId }) => {
    const json = records.get(school)?.get(sourcedId);
    if (json === undefined) throw new Error(`${sourcedId} was listed and is not there at the same version`);
    return { estab: school.target.estab, json };
  });
}

async function readByIds(reader: Reader, question: Question, target: Target, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const versions = await readVersions(reader, target);
  const sql = poolFor(reader, question, target);
  const plan = makePlan(sql, question, target, versions);
  const rows = await sql<{ standing: Standing; sourcedId: string; json: string }[]>`
    select ${plan.standing(reader.isReplica)} as standing, t.sourced_id as "sourcedId", ${plan.json} as json
    from ${plan.from} where ${plan.where} and t.sourced_id = any(${ids}::text[])`;
  requireSame(reader, target, versions, rows[0]);
  const finish = finishOf(question, target, versions);
  return new Map(rows.map(({ sourcedId, json }) => [sourcedId, finish(`${json}}`)]));
}
