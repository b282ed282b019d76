// In charge of how what needs a person is shown: by kind, each as a sentence with the way to where something can be done.
import { html, type Html } from '../../http/html.ts';
import { renderBadge, type Badge } from '../../http/pages/badge.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { addressOf } from '../../http/pages/pager.ts';
import { describeSchoolState } from '../../onboarding/school-states.ts';
import type { Need, NeedKind, NeedsOfKind } from '../../needs/needs.ts';
import { applicationPath, backupsPath, grantPath, heldPath, mailListPath, mailPath, schoolPath, schoolsPath, targetPath, targetsPath } from '../links.ts';

type Way = Readonly<{ label: string; path: string }>;
/** badge: of how a school stands, as everywhere. all: where the rest of them is listed, which may be in two places. */
type Shown = Readonly<{ title: string; badge: string | Badge; way?(need: Need): Way | undefined; all?: readonly Way[] }>;

const school = ({ estab }: Need) => schoolPath(estab ?? '');
const inState = (path: string, state: string) => addressOf(path, { state });

const serviceWays: Readonly<Record<string, Way>> = {
  backups: { label: 'See the backups', path: backupsPath },
  mail: { label: 'See the stored mails', path: mailListPath },
};

const shown: Readonly<Record<NeedKind, Shown>> = {
  service: { title: 'The service itself', badge: 'Service', way: ({ id }) => serviceWays[id ?? ''] },
  held: {
    title: 'Imports that wait for a decision',
    badge: describeSchoolState('Held'),
    way: (need) => ({ label: 'Decide', path: heldPath(need.estab ?? '') }),
    all: [{ label: 'see all of them', path: inState(schoolsPath, 'held') }],
  },
  failing: {
    title: 'Schools whose data cannot be collected',
    badge: describeSchoolState('Failing'),
    way: (need) => ({ label: 'Look into it', path: school(need) }),
    all: [{ label: 'see all of them', path: inState(schoolsPath, 'failing') }],
  },
  stale: {
    title: 'Schools whose data is too old',
    badge: describeSchoolState('Stale'),
    way: (need) => ({ label: 'Look into it', path: school(need) }),
    all: [{ label: 'see all of them', path: inState(schoolsPath, 'stale') }],
  },
  target: {
    title: 'Targets that take nothing',
    badge: 'Target',
    way: ({ id }) => ({ label: 'See why', path: targetPath(id ?? '') }),
    all: [{ label: 'those that are disabled', path: inState(targetsPath, 'disabled') }, { label: 'those that fail', path: inState(targetsPath, 'failing') }],
  },
  callback: {
    title: 'Callback URLs that may not receive secrets',
    badge: 'Callback URL',
    way: (need) => ({ label: 'Look at it', path: applicationPath(need.rp ?? '') }),
  },
  proposal: {
    title: 'Schools that an application has named',
    badge: describeSchoolState('Proposed'),
    way: (need) => ({ label: 'Confirm or refuse', path: school(need) }),
    all: [{ label: 'see all of them', path: inState(schoolsPath, 'proposed') }],
  },
  unsent: {
    title: 'Invitations to send or withdraw',
    badge: 'Not sent',
    way: (need) => ({ label: 'Decide', path: grantPath(need.estab ?? '', need.rp ?? '') }),
  },
  invitation: {
    title: 'Invitations without an answer',
    badge: 'Unanswered',
    way: (need) => ({ label: 'Ask again', path: grantPath(need.estab ?? '', need.rp ?? '') }),
    all: [{ label: 'see all of them', path: addressOf(schoolsPath, { with: 'unanswered' }) }],
  },
  mail: {
    title: 'Mails that do not arrive',
    badge: 'Mail',
    way: ({ id }) => ({ label: 'Open the mail', path: mailPath(id ?? '') }),
    all: [{ label: 'those that failed', path: inState(mailListPath, 'failed') }, { label: 'those that wait', path: inState(mailListPath, 'waiting') }],
  },
};

export function renderNeeds(all: readonly NeedsOfKind[], now: number): Html {
  return html`<section id="needs" aria-labelledby="needs-title">
<h2 id="needs-title">What needs you</h2>
${all.length === 0 ? calm() : html`<div class="card">${all.map((one) => renderKind(one, now))}</div>`}
</section>`;
}

const calm = () => html`<p class="card calm" id="calm">${renderBadge({ badge: 'All well', tone: 'good' })} Nothing needs you now.</p>`;

function renderKind({ kind, needs, more }: NeedsOfKind, now: number): Html {
  const { title, all } = shown[kind];
  return html`<section class="need-kind" id="needs-${kind}" aria-labelledby="needs-${kind}-title">
<h3 id="needs-${kind}-title">${title}</h3>
<ul class="needs">
${needs.map((need) => renderNeed(need, now))}
</ul>
${more && html`<p class="more">${all === undefined ? 'There are more.' : html`And more: ${all.map(renderWay)}`}</p>`}
</section>
`;
}

const renderWay = ({ path, label }: Way, at: number) => html`${at > 0 && ', '}<a href="${path}">${label}</a>`;

function renderNeed(need: Need, now: number): Html {
  const { badge, way } = shown[need.kind];
  const where = way?.(need);
  return html`<li>
<div><p>${renderBadge(typeof badge === 'string' ? { badge, tone: need.urgent ? 'bad' : 'wait' } : badge)} <bdi>${need.what}</bdi>. ${
    need.since && html`<span class="quiet">${renderAgo(need.since, now)}</span>`
  }</p>
${need.why !== null && html`<p class="why"><bdi>${need.why}</bdi></p>`}
${!where && html`<p class="why">To do: <bdi>${need.todo}</bdi>.</p>`}</div>
${where && html`<a class="do" href="${where.path}">${where.label}<span class="unseen">: ${need.what}</span></a>`}
</li>
`;
}
