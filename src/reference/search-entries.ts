// The entries that a search in the reference can find: guides by section, operations, parameters, headers, fields and events.
import type { Surface } from './describe-surfaces.ts';
import { resolveReference, type Schema, type Tag } from './document.ts';
import { listSections, type Guide, type GuideGroup } from './guides.ts';
import { eventPath, guidePath, operationPath, schemaPath, shortName, tagPath } from './pages/links.ts';
import { headerId, idOf, titleOf, type Placed } from './pages/operation.ts';
import { plainWords } from './pages/prose.ts';
import { placeOperations } from './pages/surface.ts';
import { placeEvents } from './pages/webhooks.ts';
import { listFields, type Field } from './schema-fields.ts';
import type { Entry } from './search.ts';

/** Returns one entry for each thing of a name at an address: the same field can occur in several answers of one operation. */
export function listEntries(surfaces: readonly Surface[], guides: readonly GuideGroup[]): readonly Entry[] {
  const ofGuides = guides.flatMap((group) => group.guides).flatMap(listGuide);
  const entries = [...surfaces.flatMap(listSurface), ...placeEvents(surfaces).flatMap(listEvent), ...ofGuides];
  return [...new Map(entries.map((entry) => [JSON.stringify([entry.kind, entry.title, entry.path]), entry])).values()];
}

/** Returns an entry for each section, under its heading. */
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

/** A page describes each header once; every operation on it links to that place. */
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
