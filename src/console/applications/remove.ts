// In charge of removing an application for good: what would be lost, and its id typed by whoever wants that.
import { SchoolbellError } from '../../errors.ts';
import { html } from '../../http/html.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { renderInput } from '../../http/pages/field.ts';
import { formatCount } from '../../http/pages/figures.ts';
import { countApplication, removeApplication } from '../../onboarding/remove-application.ts';
import { renderDoing } from '../doing.ts';
import { applicationPath, applicationRoute, applicationsPath, mailListPath } from '../links.ts';
import type { Action, Page } from '../visit.ts';
import { manySchoolsMs, openApplication, renderApplicationPage } from './place.ts';

const path = `${applicationRoute}/remove`;
/** A page counts no further. */
const mostCounted = 1_000;

export const removeApplicationPage: Page = {
  path,
  async show({ db, config }, visit) {
    const application = await openApplication(db, visit);
    const counts = Object.entries(await countApplication(db, application.rp, mostCounted));
    const figure = (count: number) => (count < mostCounted ? formatCount(count) : `${formatCount(mostCounted)} or more`);
    const form = renderDoing(visit, {
      path: `${applicationPath(application.rp)}/remove/confirm`,
      id: 'remove-application',
      look: 'danger',
      label: `Remove ${application.name} for good`,
      body: renderInput({
        name: 'typed', label: 'Id of the application', type: 'text', autocomplete: 'off', value: visit.typed?.one('typed') ?? '',
        hint: html`To remove it, type <span class="id">${application.rp}</span>`,
      }),
    });
    return renderApplicationPage(visit, application, {
      title: 'Remove',
      tab: '/edit',
      body: html`<section class="card"><h2>Remove the application</h2>
<p>Its tokens and secrets are refused at the next call. Every school that lets it in revokes it
first${config.mail ? ', and is told by mail' : ''}; with many schools that takes a minute or two. This cannot be undone.</p>
${!config.mail && html`<p class="caution">E-mail is not set up: the receipts for the schools are under <a href="${mailListPath}">Mail</a>.</p>`}
<h3>What goes with it</h3>
${counts.length === 0 ? html`<p>Nothing but itself.</p>` : renderFacts(counts.map(([words, count]) => [words, figure(count)]))}
<p>What schools decided about it, what it read, people whom it added and mails stay: that is the schools’ record.</p>
${form ?? html`<p>Your role is viewer: you may not remove it.</p>`}
</section>`,
    });
  },
};

export const removeApplicationAction: Action = {
  path: `${path}/confirm`,
  name: 'application remove',
  done: 'The application is removed.',
  longestMs: manySchoolsMs,
  async run({ db, changes, seal, config }, visit, form) {
    const { rp } = await openApplication(db, visit);
    if (form.one('typed') !== rp) throw new SchoolbellError('invalid_request', `Nothing was removed: what you typed is not the id of the application, ${rp}.`);
    await removeApplication({ db: changes, seal, publicUrl: config.publicUrl }, rp);
    return { to: applicationsPath };
  },
};
