// In charge of why an application gets a field of a record or does not: by the judgement that requests meet (`visibility`), asked
// again with more scopes. The words are the same on a page and on a terminal.
import type { Reach } from '../access/authenticate.ts';
import { scopeNames, type Scope } from '../access/scopes.ts';
import { SchoolbellError } from '../errors.ts';
import { collections } from '../roster/collections.ts';
import { isGiven, type CollectionName, type Resource } from '../roster/resource.ts';
import { selectableFields } from './field-path.ts';
import { leftOut } from './left-out.ts';
import type { Operation } from './operations.ts';
import { callerWith, requireSingle, type RecordJson, type Sight } from './see-record.ts';
import type { Dialect } from './dialects/dialect.ts';
import { requireTargets, type Judging, type Target } from './visibility.ts';

/** opens: scopes of which each set would do. since: the last version that had it, if that is kept. */
export type Why =
  | Readonly<{ is: 'given' }>
  | Readonly<{ is: 'partly'; shown: number; of: number; opens: readonly (readonly Scope[])[] }>
  | Readonly<{ is: 'hidden'; opens: readonly (readonly Scope[])[] }>
  | Readonly<{ is: 'derived' }>
  | Readonly<{ is: 'absent'; until?: { version: number; at: string | null } }>;
export type FieldSight = Readonly<{ name: string; value: unknown; why: Why }>;

/** What an application gets of a record, as a whole. */
export type WholeWhy =
  | Readonly<{ is: 'given' }>
  | Readonly<{ is: 'closed'; what: 'collection' | 'kind'; kind: string; opens: readonly (readonly Scope[])[] }>
  | Readonly<{ is: 'stopped'; message: string }>
  | Readonly<{ is: 'purged' }>
  | Readonly<{ is: 'not offered' }>;

type Judge = (scopes: readonly string[]) => Target | undefined;
/** A state in which the field still had a value. */
export type Before = Readonly<{ until: { version: number; at: string | null }; record: RecordJson }>;

/** What the scopes open of this operation at the school; undefined where it is refused. */
function judging(operation: Operation, reach: Reach, dialect: Judging): Judge {
  return (scopes) => {
    try {
      return requireTargets(callerWith('', { ...reach, scopes }), operation, dialect)[0];
    } catch (error) {
      if (error instanceof SchoolbellError && error.code === 'forbidden') return undefined;
      throw error;
    }
  };
}

/** The smallest sets of further scopes with which this holds: one more, or two. */
function findOpening(judge: Judge, scopes: readonly string[], holds: (target: Target) => boolean): Scope[][] {
  const further = scopeNames.filter((scope) => !scopes.includes(scope));
  const opens = (some: readonly Scope[]) => {
    const target = judge([...scopes, ...some]);
    return target !== undefined && holds(target);
  };
  const single = further.filter((scope) => opens([scope])).map((scope) => [scope]);
  if (single.length > 0) return single;
  return further.flatMap((one, at) => further.slice(at + 1).map((other) => [one, other])).filter(opens);
}

/** A record by its main kind, and all that it is of. */
export type Judged = Readonly<{ collection: CollectionName; kind: string; kinds: readonly string[] }>;

/** Before anything is read. */
export function judgeRecord({ collection, kind, kinds: all }: Judged, reach: Reach, dialect: Judging): WholeWhy {
  const judge = judging(requireSingle(collection), reach, dialect);
  const own = dialect.byAnyKind ? all : [kind];
  const isOpen = ({ kinds }: Target) => own.some((one) => kinds.includes(one));
  const target = judge(reach.scopes);
  if (target && isOpen(target)) return { is: 'given' };
  return { is: 'closed', what: target ? 'kind' : 'collection', kind, opens: findOpening(judge, reach.scopes, isOpen) };
}

/**
 * full: what whoever sees everything gets in this dialect. people: whom the record names. before: what it was, newest
 * first. With nothing seen, every field that there is is hidden with the record.
 */
export function explainFields(
  collection: CollectionName,
  reach: Reach,
  dialect: Dialect,
  full: RecordJson,
  seen: Sight,
  people: ReadonlyMap<string, Pick<Judged, 'kinds'>>,
  whole: WholeWhy,
  before: readonly Before[],
): FieldSight[] {
  const resource = collections[collection];
  const judge = judging(requireSingle(collection), reach, dialect);
  const names = [...new Set([...selectableFields(resource, dialect.edition), ...Object.keys(full)])];
  return names.map((name) => {
    const [all, value] = [full[name], seen.record?.[name]];
    if (all === undefined) return { name, value: undefined, why: explainAbsent(resource, name, before) };
    if (!seen.record) return { name, value: undefined, why: { is: 'hidden', opens: 'opens' in whole ? whole.opens : [] } };
    if (JSON.stringify(all) === JSON.stringify(value)) return { name, value, why: { is: 'given' } };
    const { shown, of, needs } = leftOut(resource, name, full, value, people);
    // Nothing is left out of it: the record changed between the two answers.
    if (value !== undefined && needs.length === 0) return { name, value, why: { is: 'given' } };
    const known = needs.filter((some) => some.length > 0);
    const isOpen = (target: Target) => known.every((some) => some.some((kind) => target.people.includes(kind)));
    const opens = known.length === 0 ? [] : findOpening(judge, reach.scopes, isOpen);
    return { name, value, why: shown === 0 ? { is: 'hidden', opens } : { is: 'partly', shown, of, opens } };
  });
}

function explainAbsent({ fields }: Resource, name: string, before: readonly Before[]): Why {
  const field = fields.find((one) => one.name === name);
  if (field?.late && !isGiven(field)) return { is: 'derived' };
  const had = before.find(({ record }) => record[name] !== undefined);
  return had ? { is: 'absent', until: had.until } : { is: 'absent' };
}

const sets = (opens: readonly (readonly Scope[])[]) => opens.map((some) => some.join(' with ')).join(' or ');

export function describeWhy(why: Why): string {
  switch (why.is) {
    case 'given':
      return 'It gets this.';
    case 'partly':
      return `It gets ${why.shown} of ${why.of}: the others are hidden by scope.${why.opens.length === 0 ? '' : ` ${sets(why.opens)} would open them.`}`;
    case 'hidden':
      return why.opens.length === 0 ? 'Hidden by scope.' : `Hidden by scope: ${sets(why.opens)} would open it.`;
    case 'derived':
      return 'Empty: no other record names this one as what it belongs to.';
    case 'absent':
      return why.until ? `Not in the source since version ${why.until.version}; before that it had a value.` : 'Not in the source.';
  }
}

/** kinds: what the kinds of the roster are called. */
export function describeWhole(why: WholeWhy, kindName: (kind: string) => string): string {
  switch (why.is) {
    case 'given':
      return 'The application sees this record.';
    case 'closed': {
      const opened = why.opens.length === 0 ? '' : ` ${sets(why.opens)} would open it.`;
      return why.what === 'kind'
        ? `Hidden: its scopes open other kinds, and this is one of ${kindName(why.kind)}. By its id it is not there (404).${opened}`
        : `Closed: its scopes open nothing of this collection, and the request is refused.${opened}`;
    }
    case 'stopped':
      return why.message;
    case 'purged':
      return 'It was purged: by its id nobody finds it any more (404).';
    case 'not offered':
      return 'This dialect does not offer such records.';
  }
}
