// In charge of editing what is said about an application, and what it asks schools for.
import type { Application, ApplicationChange } from '../../access/applications.ts';
import { parseAllowList } from '../../http/address-guard.ts';
import { editApplication } from '../../onboarding/edit-application.ts';
import { readCount, type Form } from '../../http/forms.ts';
import { html } from '../../http/html.ts';
import { formatMany } from '../../http/pages/figures.ts';
import { addressOf } from '../../http/pages/pager.ts';
import { renderDoing } from '../doing.ts';
import { applicationPath, applicationRoute } from '../links.ts';
import { isDeveloper, mayOperate, type Action, type Page, type Visit } from '../visit.ts';
import { describeProfile } from './profile.ts';
import { manySchoolsMs, openApplication, renderApplicationPage } from './place.ts';
import { asksTheSame, describeProfileGiven, labels, readOwnProfile, readProfile, renderProfileFields } from './profile-form.ts';

const path = `${applicationRoute}/edit`;

export const editApplicationPage: Page = {
  path,
  developers: true,
  async show({ db }, visit) {
    const application = await openApplication(db, visit);
    const at = applicationPath(application.rp);
    const fields = renderProfileFields(visit.typed, application, !isDeveloper(visit));
    const form = renderDoing(visit, { path: `${at}/edit/save`, id: 'edit-application', label: 'Save', body: fields });
    return renderApplicationPage(visit, application, {
      title: 'Edit',
      tab: '/edit',
      body: form
        ? html`<div class="card">${form}</div>
${mayOperate(visit) && html`<section class="card"><h2>Remove the application</h2>
<p>It goes for good, with its secrets, authorisations and registrations; every school that lets it in is told.</p>
<p><a href="${at}/remove">See what would be lost</a></p></section>`}
${isDeveloper(visit) && html`<p class="quiet">Its name and what it asks schools for are changed by the operator.</p>`}`
        : html`<div class="card">${describeProfile(application)}</div>`,
    });
  },
};

export const editApplicationAction: Action = {
  path: `${path}/save`,
  name: 'application edit',
  developers: true,
  done: 'What you changed is saved.',
  labels,
  longestMs: manySchoolsMs,
  about: (visit, form) => ({ detail: describeProfileGiven(form, !isDeveloper(visit)) }),
  async run({ db, changes, seal, config }, visit, form) {
    const application = await openApplication(db, visit);
    const change = isDeveloper(visit) ? readOwnProfile(form) : readChange(application, form);
    const editing = { db: changes, seal, publicUrl: config.publicUrl, allowed: parseAllowList(config.outboundAllow) };
    const { narrowed, moved } = await editApplication(editing, application.rp, change, { name: visit.actor.name, isDeveloper: isDeveloper(visit) });
    return { to: addressOf(applicationPath(application.rp), { narrowed: countOf(narrowed.length), moved: countOf(moved) }) };
  },
};

/** Confirms the callback URL that the page showed, after a developer moved it to another host. */
export const confirmCallbackAction: Action = {
  path: `${applicationRoute}/confirm-callback`,
  name: 'application edit',
  done: 'The callback URL is confirmed. Events that waited for it are sent now.',
  about: (_visit, form) => ({ detail: { confirmCallback: form.one('callback-url') } }),
  async run({ db, changes, seal, config }, visit, form) {
    const { rp } = await openApplication(db, visit);
    const editing = { db: changes, seal, publicUrl: config.publicUrl, allowed: parseAllowList(config.outboundAllow) };
    await editApplication(editing, rp, { confirmCallback: form.one('callback-url') }, { name: visit.actor.name, isDeveloper: false });
    return { to: applicationPath(rp) };
  },
};

function readChange(application: Application, form: Form): ApplicationChange {
  const given = readProfile(form);
  return { ...given, scopes: asksTheSame(given.scopes, application) ? undefined : given.scopes };
}

const countOf = (count: number) => (count === 0 ? undefined : String(count));

/** What followed from it, on the page that comes next. */
export function describeEdited({ notice, query }: Visit): string | undefined {
  const [narrowed, moved] = [readCount(query, 'narrowed') ?? 0, readCount(query, 'moved') ?? 0];
  if (notice === undefined) return undefined;
  return [
    notice,
    narrowed > 0 && `${formatMany(narrowed, 'school grants', 'schools grant')} no longer what it does not ask for, and ${narrowed === 1 ? 'is' : 'are'} told.`,
    moved > 0 && `${formatMany(moved, 'call', 'calls')} that had not arrived ${moved === 1 ? 'goes' : 'go'} to the new callback URL.`,
  ].filter(Boolean).join(' ');
}
