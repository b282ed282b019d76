// In charge of what a statement of a migration does to a running service: of each kind that migrations are written with, whom
// it holds up and what its time depends on. One that is in no row is taken for the worst.

/** Who waits until the statement, or the transaction that it is in, has ended. */
export type HoldsUp = 'nobody' | 'writers' | 'everybody';
/** moment: however large the table. scan: each row is read. rewrite: each row is written, or sorted into an index. */
export type Cost = 'moment' | 'scan' | 'rewrite';

/**
 * words: what it does, as it stands behind "it". table: the one that waits are about; of functions there is none. names: all that stand in a
 * statement which reads rows of whichever tables are among them.
 */
export type Step = Readonly<{ kind: string; table: string | undefined; names: readonly string[]; words: string; holdsUp: HoldsUp; cost: Cost }>;

type Kind = Readonly<{ kind: string; pattern: RegExp; words: string; holdsUp: HoldsUp; cost: Cost; readsAny?: true }>;

const name = '(?:only\\s+)?"?(?:\\w+\\.)?(?<table>\\w+)"?';
const ifThere = '(?:if\\s+(?:not\\s+)?exists\\s+)?';
const matching = (text: string) => new RegExp(`^${text.replaceAll(' ', '\\s+').replaceAll('NAME', name).replaceAll('IF?', ifThere)}`, 'is');

/** Tried in this order. `$` in the words is what the pattern calls `what`. */
const kinds: readonly Kind[] = [
  {
    kind: 'create table as', pattern: matching('create (?:unlogged )?table IF?NAME(?=[^(]*(?:\\([^()]*\\)[^(]*)? as )'),
    words: 'makes the table and fills it', holdsUp: 'nobody', cost: 'rewrite', readsAny: true,
  },
  { kind: 'create table', pattern: matching('create (?:unlogged )?table IF?NAME'), words: 'makes the table', holdsUp: 'nobody', cost: 'moment' },
  {
    kind: 'create index concurrently', pattern: matching('create (?:unique )?index concurrently IF?(?<what>\\w+) on NAME'),
    words: 'makes the index $ while others write', holdsUp: 'nobody', cost: 'rewrite',
  },
  {
    kind: 'create index', pattern: matching('create (?:unique )?index IF?(?<what>\\w+) on NAME'),
    words: 'makes the index $', holdsUp: 'writers', cost: 'rewrite',
  },
  { kind: 'drop index concurrently', pattern: matching('drop index concurrently '), words: 'drops an index', holdsUp: 'nobody', cost: 'moment' },
  { kind: 'drop index', pattern: matching('drop index '), words: 'drops an index', holdsUp: 'everybody', cost: 'moment' },
  { kind: 'drop table', pattern: matching('drop table IF?NAME'), words: 'drops the table', holdsUp: 'everybody', cost: 'moment' },
  {
    kind: 'create function', pattern: matching('create (?:or replace )?function (?<what>\\w+)'),
    words: 'makes the function $', holdsUp: 'nobody', cost: 'moment',
  },
  {
    kind: 'create trigger', pattern: matching('create trigger (?<what>\\w+) [\\w\\s]+? on NAME'),
    words: 'makes the trigger $', holdsUp: 'writers', cost: 'moment',
  },
  { kind: 'comment', pattern: matching('comment on '), words: 'writes a comment', holdsUp: 'nobody', cost: 'moment' },
  { kind: 'analyze', pattern: matching('analyze NAME'), words: 'counts what plans need', holdsUp: 'nobody', cost: 'scan' },
  { kind: 'update', pattern: matching('update NAME'), words: 'changes rows', holdsUp: 'writers', cost: 'rewrite', readsAny: true },
  { kind: 'delete', pattern: matching('delete from NAME'), words: 'deletes rows', holdsUp: 'writers', cost: 'rewrite', readsAny: true },
  { kind: 'insert', pattern: matching('insert into NAME'), words: 'adds rows', holdsUp: 'nobody', cost: 'rewrite', readsAny: true },
];

/** A value that is written out, or the time, and nothing computed of it. */
const oneForAll =
  "(?:-?[\\d.]+|true|false|null|now\\(\\)|current_(?:timestamp|date)|'(?:[^']|'')*')(?:::[\\w ]+(?:\\[\\])?)?\\s*" +
  '(?:$|(?:not|null|check|references|constraint|unique|primary)\\b)';

/** What stands behind `alter table x`, each part for itself. */
const alterations: readonly Kind[] = [
  {
    kind: 'add column that is computed', pattern: matching('add column IF?(?<what>\\w+)\\b(?=.*\\bgenerated )'),
    words: 'adds the column $ and fills it', holdsUp: 'everybody', cost: 'rewrite',
  },
  {
    kind: 'add column that counts', pattern: matching('add column IF?(?<what>\\w+) (?:small|big)?serial\\b'),
    words: 'adds the column $ and fills it', holdsUp: 'everybody', cost: 'rewrite',
  },
  // A default that is the same for every row is kept once, not in each row.
  {
    kind: 'add column with a default of its own in each row', pattern: matching(`add column IF?(?<what>\\w+)\\b(?=.*\\bdefault (?!${oneForAll}))`),
    words: 'adds the column $ and fills it', holdsUp: 'everybody', cost: 'rewrite',
  },
  {
    kind: 'add column with an index', pattern: matching('add column IF?(?<what>\\w+)\\b(?=.*\\b(?:unique|primary)\\b)'),
    words: 'adds the column $ and its index', holdsUp: 'everybody', cost: 'rewrite',
  },
  {
    kind: 'add column that is checked', pattern: matching('add column IF?(?<what>\\w+)\\b(?=.*\\b(?:check|references)\\b)'),
    words: 'adds the column $ with a rule', holdsUp: 'everybody', cost: 'scan',
  },
  { kind: 'add column', pattern: matching('add column IF?(?<what>\\w+)'), words: 'adds the column $', holdsUp: 'everybody', cost: 'moment' },
  {
    kind: 'add constraint not valid', pattern: matching('add constraint (?<what>\\w+)(?=.*\\bnot valid\\b)'),
    words: 'adds the rule $ for what is written from then on', holdsUp: 'everybody', cost: 'moment',
  },
  {
    kind: 'add constraint of an index', pattern: matching('add constraint (?<what>\\w+)(?= (?:unique|primary key) using index )'),
    words: 'makes the index a rule $', holdsUp: 'everybody', cost: 'moment',
  },
  {
    kind: 'add constraint with an index', pattern: matching('add (?:constraint (?<what>\\w+) )?(?:unique|primary key|exclude)\\b'),
    words: 'adds the rule $ and makes its index', holdsUp: 'everybody', cost: 'rewrite',
  },
  {
    kind: 'add constraint', pattern: matching('add constraint (?<what>\\w+)'),
    words: 'adds the rule $ and checks every row', holdsUp: 'everybody', cost: 'scan',
  },
  {
    kind: 'validate constraint', pattern: matching('validate constraint (?<what>\\w+)'),
    words: 'checks every row by the rule $ while others write', holdsUp: 'nobody', cost: 'scan',
  },
  { kind: 'drop constraint', pattern: matching('drop constraint IF?(?<what>\\w+)'), words: 'drops the rule $', holdsUp: 'everybody', cost: 'moment' },
  { kind: 'drop column', pattern: matching('drop column IF?(?<what>\\w+)'), words: 'drops the column $', holdsUp: 'everybody', cost: 'moment' },
  { kind: 'set not null', pattern: matching('alter column (?<what>\\w+) set not null'), words: 'has $ always there', holdsUp: 'everybody', cost: 'scan' },
  {
    kind: 'alter column', pattern: matching('alter column (?<what>\\w+) (?:set default|drop default|drop not null|set storage|set statistics)\\b'),
    words: 'changes how $ is kept from then on', holdsUp: 'everybody', cost: 'moment',
  },
  { kind: 'rename', pattern: matching('rename '), words: 'renames it, or a part of it', holdsUp: 'everybody', cost: 'moment' },
  {
    kind: 'set storage parameters', pattern: matching('set \\('), words: 'changes how it is looked after', holdsUp: 'nobody', cost: 'moment',
  },
];

export const unknownKind = 'unknown';

/** The steps of a piece of SQL, in order. */
export function readSteps(sql: string): Step[] {
  return splitStatements(sql).flatMap((statement) => {
    const altered = matching('alter table IF?NAME ').exec(statement);
    if (!altered) return [classify(kinds, statement, undefined)];
    return splitAtCommas(statement.slice(altered[0].length).trim()).map((part) => classify(alterations, part, altered.groups?.table));
  });
}

function classify(of: readonly Kind[], text: string, altered: string | undefined): Step {
  for (const { kind, pattern, words, holdsUp, cost, readsAny } of of) {
    const found = pattern.exec(text);
    if (!found) continue;
    const { table, what = '' } = found.groups ?? {};
    return { kind, table: altered ?? table, names: readsAny ? namesIn(text) : [], words: words.replace('$', what), holdsUp, cost };
  }
  return { kind: unknownKind, table: altered, names: [], words: `runs "${text.replaceAll(/\s+/g, ' ').slice(0, 60)}"`, holdsUp: 'everybody', cost: 'rewrite' };
}

/** Not what stands in texts. */
const namesIn = (statement: string) => [...new Set(statement.replaceAll(/'(?:[^']|'')*'/g, '').toLowerCase().match(/\w+/g))];

/** Comments, texts and bodies of functions may hold whatever ends a statement elsewhere. */
const pieces = /--[^\n]*|\/\*[^]*?\*\/|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[^]*?\$\1\$|;|[(),]|[^-/'"$;(),]+|[^]/g;

/** Without comments. */
export function splitStatements(sql: string): string[] {
  const statements = [''];
  for (const [piece] of sql.matchAll(pieces)) {
    if (piece === ';') statements.push('');
    else if (!piece.startsWith('--') && !piece.startsWith('/*')) statements.push(`${statements.pop() ?? ''}${piece}`);
  }
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '');
}

function splitAtCommas(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const [piece] of text.matchAll(pieces)) {
    depth += piece === '(' ? 1 : piece === ')' ? -1 : 0;
    if (piece === ',' && depth === 0) parts.push('');
    else parts.push(`${parts.pop() ?? ''}${piece}`);
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}
