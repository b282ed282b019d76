// In charge of the records that refer to one, as a table: some of them beside the record, all of them page by page.
import { SchoolbellError } from '../../errors.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { describeKind, describeRole } from '../../rostering/kind-words.ts';
import { readRelated, relationsOf, type Related, type RelatedPage } from '../../rostering/related-records.ts';
import { pageLength } from '../layout.ts';
import type { ConsoleParts, Visit } from '../visit.ts';
import { renderHead, renderStatus, type Subject } from './around.ts';
import { renderLink } from './show-value.ts';

const listPath = ({ path }: Subject, list: string, after?: string) => addressOf(path, { view: 'list', list, after });

export async function showRelated({ db }: ConsoleParts, { query }: Visit, subject: Subject): Promise<Html> {
  const { school: { estab }, resource, sourcedId } = subject;
  const relation = relationsOf(resource.collection).find(({ name }) => name === query.one('list'));
  if (!relation) throw new SchoolbellError('not_found', 'There is no such list.');
  const after = query.one('after');
  const page = await readRelated(db, estab, relation, sourcedId, pageLength, after === '' ? undefined : after);
  return html`${renderHead(subject, 'fields')}
${page.records.length === 0 ? renderEmpty(`${relation.title}: no more.`) : renderRelatedTable(subject, page)}
${renderPager({
  first: after === '' ? undefined : listPath(subject, relation.name),
  next: page.next === undefined ? undefined : listPath(subject, relation.name, page.next),
})}`;
}

/** Some of them, with the way to all. */
export function renderRelated(subject: Subject, page: RelatedPage): Html {
  const { name, title } = page.relation;
  return html`${renderRelatedTable(subject, page)}
${page.next !== undefined && html`<p><a href="${listPath(subject, name)}">All of these<span class="unseen">: ${title}</span></a></p>`}`;
}

function renderRelatedTable({ school: { estab } }: Subject, { relation, records }: RelatedPage): Html {
  const first = (record: Related): HtmlValue =>
    record.other
      ? renderLink(estab, record.other.collection, record.other.sourcedId, record.other.name)
      : renderLink(estab, relation.collection, record.sourcedId, record.name);
  const enrolments = relation.collection === 'enrollments';
  return renderTable({
    id: `related-${relation.name}`,
    caption: relation.title,
    columns: ['Name', 'Role or type', 'Status', enrolments ? 'Enrolment' : 'Id'],
    rows: records.map((record) => [
      first(record),
      describeRole(record.role) || describeKind(relation.collection, record.kind),
      renderStatus(record.status),
      enrolments ? renderLink(estab, 'enrollments', record.sourcedId, record.sourcedId) : html`<span class="id">${record.sourcedId}</span>`,
    ]),
    stacked: true,
  });
}
