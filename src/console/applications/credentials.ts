// In charge of the secrets of an application: how old each is, replacing it (shown once, the old one kept as long as was
// chosen), and ending the old one.
import { endOldSecrets, listSecrets, type KeptSecret } from '../../access/credentials.ts';
import type { ApplicationSecretKind } from '../../access/applications.ts';
import { SchoolbellError } from '../../errors.ts';
import { html, type Html } from '../../http/html.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { renderTable } from '../../http/pages/table.ts';
import { rotateSecret } from '../../onboarding/rotate-secret.ts';
import { renderDoing } from '../doing.ts';
import { applicationPath, applicationRoute } from '../links.ts';
import { describeOldEnds, describeOverlap, endsOld, renderOverlap, requireOverlap } from '../overlap.ts';
import { renderShownOnce } from '../shown-once.ts';
import { mayChange, type Action, type Page, type Visit } from '../visit.ts';
import { openApplication, renderApplicationPage } from './place.ts';

const path = `${applicationRoute}/secrets/:kind`;

const refused = 'Whoever still uses it is refused at the next call, and so are tokens that were had with it.';
const kinds: Readonly<Record<ApplicationSecretKind, { title: string; opens: string; ending: string }>> = {
  client: { title: 'Client secret', opens: 'Rostering in variant A and as OneRoster 1.2, and signing people in: it goes with the client id.', ending: refused },
  management: { title: 'Management secret', opens: 'What the application does for itself: asking schools, its own schools and deliveries.', ending: refused },
  signing: {
    title: 'Signing secret',
    opens: 'Signs what the application is sent, so that it knows where that came from. While there is an old one, both sign.',
    ending: 'From then on what the application is sent is signed with the present one alone.',
  },
};

function requireKind({ params }: Visit): ApplicationSecretKind {
  const known = (['client', 'management', 'signing'] as const).find((kind) => kind === params.kind);
  if (!known) throw new SchoolbellError('not_found', 'There is no such secret.');
  return known;
}

export function renderCredentials(secrets: readonly KeptSecret[], rp: string, admin: boolean, now: number): Html {
  return renderTable({
    id: 'credentials',
    caption: 'Secrets of the application; those of its schools stand with each school',
    stacked: true,
    columns: ['Secret', 'Made', 'The old one ends', ...(admin ? ['Change'] : [])],
    rows: Object.entries(kinds).map(([kind, { title }]) => {
      const [present, ...old] = secrets.filter((one) => one.kind === kind);
      const until = old[0]?.validUntil;
      return [
        title,
        renderAgo(present?.created, now, 'none'),
        until ? renderAgo(until, now) : html`<span class="quiet">no old one</span>`,
        ...(admin ? [html`<a href="${applicationPath(rp)}/secrets/${kind}">Replace<span class="unseen"> the ${title.toLowerCase()}</span></a>`] : []),
      ];
    }),
  });
}

export const secretPage: Page = {
  path,
  developers: true,
  async show({ db, now }, visit) {
    const kind = requireKind(visit);
    const application = await openApplication(db, visit);
    const [present, ...old] = await listSecrets(db, { rp: application.rp, kind });
    const at = `${applicationPath(application.rp)}/secrets/${kind}`;
    const { title, opens } = kinds[kind];
    const rotate = renderDoing(visit, {
      path: `${at}/rotate`,
      id: 'rotate-secret',
      label: 'Make a new secret',
      // Names the one that is replaced: sent again by a reload, it replaces nothing a second time.
      body: html`<input type="hidden" name="replaces" value="${present?.id ?? ''}">
${renderOverlap(visit.typed)}`,
    });
    return renderApplicationPage(visit, application, {
      title,
      tab: '',
      body: html`<section class="card"><h2>${title}</h2>
<p>${opens}</p>
${renderFacts([
  ['Made', renderAgo(present?.created, now(), 'none')],
  ...old.map(({ created, validUntil }) => ['An old one', html`made ${renderAgo(created, now())}, ends ${renderAgo(validUntil, now())}`] as const),
])}
${rotate ?? html`<p>Your role is viewer: ask an admin to replace it.</p>`}
</section>
${old.length > 0 && mayChange(visit) && renderEnd(visit, kind, at)}`,
    });
  },
};

function renderEnd(visit: Visit, kind: ApplicationSecretKind, at: string): Html {
  return html`<section class="card"><h2>End the old one now</h2>
<p>${kinds[kind].ending}</p>
${renderDoing(visit, { path: `${at}/end-old`, id: 'end-old', look: 'danger', label: 'End the old one now' })}</section>`;
}

export const rotateSecretAction: Action = {
  path: `${path}/rotate`,
  name: 'rotate',
  developers: true,
  about: ({ params }, form) => ({ subject: `${params.kind} secret`, detail: describeOverlap(form) }),
  async run({ db, changes, seal }, visit, form) {
    const kind = requireKind(visit);
    const application = await openApplication(db, visit);
    const how = { keepSeconds: requireOverlap(form), replaces: form.one('replaces') };
    const rotated = await rotateSecret({ db: changes, seal }, { rp: application.rp, kind }, how);
    const title = `New ${kinds[kind].title.toLowerCase()}`;
    return renderApplicationPage(visit, application, {
      title,
      tab: '',
      body: renderShownOnce({
        secrets: [
          ...(kind === 'client' ? [{ id: 'client-id', label: 'Client id (no secret)', value: application.clientId }] : []),
          { id: 'new-secret', label: title, value: rotated.secret },
        ],
        more: html`<p>${describeOldEnds(rotated)}</p>`,
        back: { path: applicationPath(application.rp), label: 'to the application' },
      }),
    });
  },
};

export const endOldSecretAction: Action = {
  path: `${path}/end-old`,
  name: 'rotate',
  developers: true,
  done: 'The old secret has ended.',
  about: ({ params }) => ({ subject: `${params.kind} secret`, detail: endsOld }),
  async run({ db, changes }, visit) {
    const kind = requireKind(visit);
    const { rp } = await openApplication(db, visit);
    if ((await endOldSecrets(changes, { rp, kind })) === 0) throw new SchoolbellError('conflict', 'There is no old secret that still works.');
    return { to: `${applicationPath(rp)}/secrets/${kind}` };
  },
};
