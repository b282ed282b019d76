// In charge of finding things in the reference: guides, operations, parameters, headers, fields and events, by every word that is said of them. What
// is called by a word comes before what only speaks of it.
import type { Surface } from './describe-surfaces.ts';
import { resolveReference, type Schema, type Tag } from './document.ts';
import { listSections, type Guide, type GuideGroup } from './guides.ts';
import { eventPath, guidePath, operationPath, schemaPath, shortName, tagPath } from './pages/links.ts';
import { headerId, idOf, titleOf, type Placed } from './pages/operation.ts';
import { plainWords } from './pages/prose.ts';
import { placeOperations } from './pages/surface.ts';
import { placeEvents } from './pages/webhooks.ts';
import { listFields, type Field } from './schema-fields.ts';

type Kind = 'Guide' | 'Operation' | 'Parameter' | 'Header' | 'Field' | 'Event' | 'Group';
export type Entry = Readonly<{ kind: Kind; title: string; where: string; path: string; words: string }>;
/** In small letters: what it is called, where it is, and all that is said of it. */
type Indexed = Entry & Readonly<{ titles: string; places: string; said: string }>;
export type Index = readonly Indexed[];

export function makeIndex(surfaces: readonly Surface[], guides: readonly GuideGroup[]): Index {
  const ofGuides = guides.flatMap((group) => group.guides).flatMap(listGuide);
  const entries = [...surfaces.flatMap(listSurface), ...placeEvents(surfaces).flatMap(listEvent), ...ofGuides];
  // The same field of the same thing is found once.
  const distinct = [...new Map(entries.map((entry) => [JSON.stringify([entry.kind, entry.title, entry.path]), entry])).values()];
  return distinct.map((entry) => ({
    ...entry,
    titles: entry.title.toLowerCase(),
    places: entry.where.toLowerCase(),
    said: entry.words.toLowerCase(),
  }));
}

/** Found by the heading under which it stands. */
function listGuide(guide: Guide): Entry[] {
  return listSections(guide).map(({ title, anchor, words }) => ({
    kind: 'Guide',
    title,
    where: anchor === undefined ? 'Guides' : guide.title,
    path: anchor === undefined ? guidePath(guide.name) : `${guidePath(guide.name)}#${anchor}`,
    words: plainWords(words),
  }));
}

function listSurface(surface: Surface): Entry[] {
  const { name, document } = surface;
  const placed = placeOperations(surface);
  const addressOf = (one: Placed) => operationPath(name, one.operation.tags?.[0] ?? '', idOf(one));
  const schemas = Object.entries(document.components.schemas).flatMap(([schema, described]): Entry[] => [
    { kind: 'Field', title: schema, where: shortName(document.info.title), path: schemaPath(name, schema), words: plainWords(describeSchema(described)) },
    ...listFields(described).map((field) => entryOf(field, `${schema}, ${shortName(document.info.title)}`, schemaPath(name, schema))),
  ]);
  return [...document.tags.map((tag) => listTag(surface, tag)), ...placed.flatMap((one) => listOperation(one, addressOf(one))), ...schemas];
}

const describeSchema = ({ description }: Schema) => (typeof description === 'string' ? description : undefined);

function listTag({ name, document }: Surface, tag: Tag): Entry {
  const where = shortName(document.info.title);
  return { kind: 'Group', title: shortName(tag.name), where, path: tagPath(name, tag.name), words: plainWords(tag.description) };
}

function listOperation(placed: Placed, path: string): Entry[] {
  const { operation, verb } = placed;
  const { parameters = [], requestBody, responses } = operation;
  const where = `${verb.toUpperCase()} ${placed.path}`;
  const answers = Object.entries(responses).map(([status, { description }]) => [status, description].join(' '));
  const said = [operation.operationId, operation.description, requestBody?.description, ...answers].map(plainWords).join(' ');
  const bodies = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)].flatMap((content) => Object.values(content ?? {}));
  return [
    { kind: 'Operation', title: titleOf(placed), where, path, words: said },
    ...parameters.map((one): Entry => ({ kind: 'Parameter', title: one.name, where, path, words: plainWords(one.description) })),
    ...listHeaders(placed, path),
    ...bodies.flatMap(({ schema }) => (schema ? listFields(schema) : [])).map((field) => entryOf(field, where, path)),
  ];
}

/** Where the page of the operation says what each is; the others on that page lead to the same place. */
function listHeaders({ document, operation: { responses, tags: [tag = ''] = [] } }: Placed, path: string): Entry[] {
  const headers = Object.values(responses).flatMap(({ headers: given = {} }) => Object.entries(given));
  return headers.map(([title, header]) => ({
    kind: 'Header',
    title,
    where: `answers of ${shortName(tag)}, ${shortName(document.info.title)}`,
    path: `${path.replace(/#.*/, '')}#${headerId(title)}`,
    words: plainWords(resolveReference(document, header).description),
  }));
}

function listEvent(placed: Placed): Entry[] {
  const path = eventPath(idOf(placed));
  const where = 'Webhooks';
  const { description, parameters = [], requestBody } = placed.operation;
  const fields = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => (schema ? listFields(schema) : []));
  return [
    { kind: 'Event', title: titleOf(placed), where, path, words: plainWords(description) },
    ...parameters.map((one): Entry => ({ kind: 'Parameter', title: one.name, where: titleOf(placed), path, words: plainWords(one.description) })),
    ...fields.map((field) => entryOf(field, titleOf(placed), path)),
  ];
}

function entryOf({ path: title, description, values }: Field, where: string, path: string): Entry {
  return { kind: 'Field', title, where, path, words: `${plainWords(description)} ${values.join(' ')}`.trim() };
}

const weights = { titles: 9, places: 3, said: 1 } as const;
const kindOrder: Readonly<Record<Kind, number>> = { Guide: 3, Operation: 4, Event: 4, Group: 3, Parameter: 2, Header: 2, Field: 1 };

/** alike: how many others say the same of something of the same name, and come after it. */
export type Found = Entry & Readonly<{ alike: number }>;

/** All words must occur; parts of words do too, after whole words and beginnings. */
export function search(index: Index, asked: string, most: number): { found: readonly Found[]; all: number } {
  const words = asked.toLowerCase().split(/[\s,;]+/).filter((word) => word !== '').slice(0, 12);
  if (words.length === 0) return { found: [], all: 0 };
  const scored = index.flatMap((entry) => {
    const scores = words.map((word) => scoreOf(entry, word));
    return scores.includes(0) ? [] : [{ entry, score: scores.reduce((sum, one) => sum + one, kindOrder[entry.kind] / 10) }];
  });
  const ranked = scored.toSorted((a, b) => b.score - a.score || a.entry.title.length - b.entry.title.length);
  const together = new Map<string, Found>();
  for (const { entry } of ranked) {
    const [, , surface] = entry.path.split('/');
    const key = JSON.stringify([entry.kind, entry.title, entry.words, surface]);
    const first = together.get(key);
    together.set(key, first ? { ...first, alike: first.alike + 1 } : { ...entry, alike: 0 });
  }
  return { found: [...together.values()].slice(0, most), all: together.size };
}

function scoreOf(entry: Indexed, word: string): number {
  const at = (text: string): number => {
    const found = text.indexOf(word);
    if (found < 0) return 0;
    if (text === word) return 4;
    const isWord = (index: number) => !/[\p{L}\p{N}]/u.test(text.charAt(index));
    for (let next = found; next >= 0; next = text.indexOf(word, next + 1)) if (isWord(next - 1)) return isWord(next + word.length) ? 3 : 2;
    return 1;
  };
  return Math.max(...(Object.keys(weights) as (keyof typeof weights)[]).map((field) => weights[field] * at(entry[field])));
}
