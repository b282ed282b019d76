// The page of an import that waits for approval: why it waits, what it would delete, and the decision.
import { noteLook } from '../../../access/audit-trail.ts';
import { countLosses, discardHeld, findHeld, letHeldGo, type CountedLoss, type HeldImport } from '../../../collection/held.ts';
import { describeShrinkage } from '../../../collection/import-report.ts';
import { listLeaving, type Leaving } from '../../../collection/leaving.ts';
import { describeKind, describeLoss } from '../../../collection/pages/import-words.ts';
import { html, type Html } from '../../../http/html.ts';
import { renderEmpty } from '../../../http/pages/empty.ts';
import { renderFacts } from '../../../http/pages/facts.ts';
import { renderFilters } from '../../../http/pages/filters.ts';
import { renderAgo } from '../../../http/pages/moment.ts';
import { addressOf, renderPager } from '../../../http/pages/pager.ts';
import { renderTable } from '../../../http/pages/table.ts';
import { renderDoing } from '../../doing.ts';
import { pageLength, renderConsole } from '../../layout.ts';
import { heldPath, importPath, importsPath, schoolPath, schoolRoute, sourcePath } from '../../links.ts';
import { renderLink } from '../../roster/show-value.ts';
import { mayChange, type Action, type Page, type Visit } from '../../visit.ts';
import { schoolOf } from '../around.ts';
import { startedNotices } from './started.ts';

const path = `${schoolRoute}/held`;

export const heldPage: Page = {
  path,
  async show(parts, visit) {
    const { db, changes, now } = parts;
    const school = await schoolOf(parts, visit);
    const { estab } = school;
    const held = await findHeld(db, estab);
    const around = { section: 'schools', back: { path: schoolPath(estab), label: school.name } } as const;
    if (!held)
      return renderConsole(visit, {
        ...around,
        title: `No import of ${school.name} waits for approval`,
        body: html`<h1>No import waits for approval</h1>
${renderEmpty('An import that would delete many records, or all of a kind, is shown here until it is approved or discarded.', {
  path: importsPath(estab),
  label: 'See its imports',
})}`,
      });
    const losses = await countLosses(db, estab, held.id);
    await noteLook(changes, visit.actor, { action: 'look at held import', estab, subject: held.id });
    const shown = losses.find((loss) => keyOf(loss) === visit.query.one('of')) ?? losses[0];
    const [search, after] = [visit.query.one('q'), visit.query.exact('after')];
    const leaving = shown && (await listLeaving(db, estab, held.id, {
      collection: shown.collection,
      role: shown.role ?? undefined,
      stays: shown.stays === true,
      search,
      after: after || undefined,
      most: pageLength,
    }));
    return renderConsole(visit, {
      ...around,
      title: `An import of ${school.name} waits for approval`,
      body: html`<h1>An import waits for approval</h1>
${renderDecision(visit, estab, held, now())}
${shown && renderWho({ estab, losses, shown, ...(leaving ?? { leaving: [], next: undefined }), search, after })}`,
    });
  },
};

const keyOf = ({ collection, role, stays }: CountedLoss) => (role === null ? collection : `${collection}/${role}${stays ? '/stays' : ''}`);

function renderDecision(visit: Visit, estab: string, { id, at, kind, shrinkage }: HeldImport, now: number): Html {
  const packed = kind === 'upload' || kind === 'command';
  const seen = html`<input type="hidden" name="import" value="${id}">`;
  const doing = (verb: string, label: string, look?: 'second') =>
    renderDoing(visit, { path: `${heldPath(estab)}/${verb}`, id: `${verb}-held`, label, look, body: seen });
  return html`<section class="card held" aria-labelledby="why"><h2 id="why">Why it waits</h2>
<p id="held-message"><strong>${describeShrinkage(shrinkage)}.</strong>
At the end of a school year that can be right. It can also mean that an export was incomplete. Nothing has been changed so far.</p>
${renderFacts([['Import', html`<a href="${importPath(estab, id)}">${renderAgo(at, now)}</a>, ${describeKind(kind).toLowerCase()}`]])}
<p>If you approve it, exactly the records below are deleted.
${!packed && 'The data is read again for that. If other records would be deleted by then, the new import waits too.'}
If you discard it, ${packed ? 'the upload is deleted and can be sent again.' : 'the data is read again at the next fetch.'}</p>
${
  mayChange(visit)
    ? html`<div class="actions">${doing('approve', 'Approve import')}
${doing('discard', 'Discard import', 'second')}</div>`
    : html`<p class="quiet">Your role is viewer. An admin or the school decides.</p>`
}</section>`;
}

type Who = {
  estab: string;
  losses: readonly CountedLoss[];
  shown: CountedLoss;
  leaving: readonly Leaving[];
  next: string | undefined;
  search: string;
  after: string;
};

function renderWho({ estab, losses, shown, leaving, next, search, after }: Who): Html {
  const of = keyOf(shown);
  return html`<section class="card" aria-labelledby="who"><h2 id="who">What would be deleted</h2>
<ul class="kinds" id="losses">${losses.map((loss) => html`<li><a href="${addressOf(heldPath(estab), { of: keyOf(loss) })}"
${keyOf(loss) === of && html` aria-current="true"`}>${describeLoss(loss)}</a></li>`)}</ul>
${renderFilters({
  path: heldPath(estab),
  keep: { of },
  filters: [{ kind: 'text', name: 'q', label: 'Part of a name or id', value: search }],
})}
${
  leaving.length === 0
    ? renderEmpty(next === undefined ? 'No such record.' : 'No such record among those that were searched so far. There are more.')
    : renderTable({
        id: 'leaving',
        stacked: true,
        caption: `${describeLoss(shown)}, by id`,
        columns: ['Name', 'Id'],
        rows: leaving.map(({ name, sourcedId }) => [
          renderLink(estab, shown.collection, sourcedId, name ?? undefined),
          html`<span class="id">${sourcedId}</span>`,
        ]),
      })
}
${renderPager({
  first: after === '' ? undefined : addressOf(heldPath(estab), { of, q: search }),
  next: next === undefined ? undefined : addressOf(heldPath(estab), { of, q: search, after: next }),
})}</section>`;
}

export const approveHeldAction: Action = {
  path: `${path}/approve`,
  name: 'import approve',
  done: startedNotices.approve.started,
  about: (_visit, form) => ({ subject: form.one('import').slice(0, 40) }),
  async run(parts, visit, form) {
    const { estab } = await schoolOf(parts, visit);
    await letHeldGo(parts.changes, estab, form.one('import'));
    return { to: sourcePath(estab) };
  },
};

export const discardHeldAction: Action = {
  path: `${path}/discard`,
  name: 'import discard',
  done: 'Discarded. Nothing was changed.',
  about: (_visit, form) => ({ subject: form.one('import').slice(0, 40) }),
  async run(parts, visit, form) {
    const { estab } = await schoolOf(parts, visit);
    await discardHeld(parts.changes, estab, form.one('import'));
    return { to: sourcePath(estab) };
  },
};
