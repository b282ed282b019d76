// In charge of what the operator decides about an application for a school, each by the function of its command.
import { requireApplication } from '../../access/applications.ts';
import { endOldSecrets } from '../../access/credentials.ts';
import { requireEstablishment } from '../../access/establishments.ts';
import { SchoolbellError } from '../../errors.ts';
import { html } from '../../http/html.ts';
import { approve, change, changeScopes } from '../../onboarding/approve.ts';
import { listAsked } from '../../onboarding/grants.ts';
import { invite, withdraw } from '../../onboarding/invitations.ts';
import { rotateSecret } from '../../onboarding/rotate-secret.ts';
import { renderConsole } from '../layout.ts';
import { grantPath, schoolRoute, schoolsPath } from '../links.ts';
import { describeOldEnds, describeOverlap, endsOld, requireOverlap } from '../overlap.ts';
import { renderShownOnce } from '../shown-once.ts';
import type { Action, Shown, Visit } from '../visit.ts';
import { deciding } from './school-actions.ts';
import { askingDone, askingLabels } from './words.ts';

const path = `${schoolRoute}/applications/:rp`;
const pairOf = ({ params }: Visit) => ({ estab: params.estab ?? '', rp: params.rp ?? '', actor: 'operator' as const });
const backTo = (visit: Visit) => grantPath(pairOf(visit).estab, pairOf(visit).rp);

function stateAction(verb: 'pause' | 'resume' | 'revoke', done: string): Action {
  return {
    path: `${path}/${verb}`,
    name: verb,
    done,
    async run(parts, visit) {
      await change(deciding(parts), verb, pairOf(visit));
      return { to: backTo(visit) };
    },
  };
}

export const grantActions: readonly Action[] = [
  {
    path: `${path}/invite`,
    name: 'invite',
    done: askingDone,
    labels: askingLabels,
    about: (_visit, form) => ({ detail: form.one('reason') === '' ? {} : { reason: form.one('reason') } }),
    async run({ changes, config }, visit, form) {
      const { estab, rp } = pairOf(visit);
      const { name, email } = await requireEstablishment(changes, estab);
      const [open] = await listAsked(changes, estab, rp);
      // What is sent again says what it said.
      const reason = form.one('reason') || open?.reason || null;
      await invite(changes, config.publicUrl, { estab, rp, schoolName: name, contactEmail: email, reason, scopes: undefined, by: 'operator' });
      return { to: backTo(visit) };
    },
  },
  {
    path: `${path}/withdraw`,
    name: 'invite',
    done: 'The request is withdrawn; its link opens nothing any more.',
    about: () => ({ detail: { withdraw: true } }),
    async run({ changes }, visit) {
      const { estab, rp } = pairOf(visit);
      const { schoolRemoved } = await withdraw(changes, { estab, rp, by: 'operator' });
      return { to: schoolRemoved ? schoolsPath : backTo(visit) };
    },
  },
  {
    path: `${path}/authorise`,
    name: 'authorise',
    about: (_visit, form) => ({ detail: { optional: form.all('scopes').join(', ') } }),
    async run(parts, visit, form) {
      const { requiredScopes, optionalScopes } = await requireApplication(parts.changes, pairOf(visit).rp);
      if (form.one('asked') !== [...requiredScopes, ...optionalScopes].join(','))
        throw new SchoolbellError('conflict', 'The application asks for something else than when you opened the page. See below what it asks for now.');
      const scopes = [...requiredScopes, ...optionalScopes.filter((scope) => form.all('scopes').includes(scope))];
      const given = { ...pairOf(visit), scopes: scopes.join(','), replaces: form.one('replaces') };
      const { schoolSecret } = await approve(deciding(parts), given);
      return showSecret(visit, 'The application is approved', schoolSecret, 'An old secret works for another day, unless access had been revoked.');
    },
  },
  {
    path: `${path}/scopes`,
    name: 'scopes',
    done: 'What it may read is changed, from the next request on.',
    about: (_visit, form) => ({ detail: { optional: form.all('scopes').join(', ') } }),
    async run(parts, visit, form) {
      await changeScopes(deciding(parts), { ...pairOf(visit), scopes: form.all('scopes') });
      return { to: backTo(visit) };
    },
  },
  {
    path: `${path}/rotate`,
    name: 'rotate',
    about: (_visit, form) => ({ subject: 'school secret', detail: describeOverlap(form) }),
    async run({ changes, seal }, visit, form) {
      const how = { keepSeconds: requireOverlap(form), replaces: form.one('replaces') };
      const rotated = await rotateSecret({ db: changes, seal }, { ...pairOf(visit), kind: 'school' }, how);
      return showSecret(visit, 'The new school secret', rotated.secret, describeOldEnds(rotated));
    },
  },
  {
    path: `${path}/end-old`,
    name: 'rotate',
    done: 'The old secret has ended.',
    about: () => ({ subject: 'school secret', detail: endsOld }),
    async run({ changes }, visit) {
      const { estab, rp } = pairOf(visit);
      if ((await endOldSecrets(changes, { estab, rp, kind: 'school' })) === 0)
        throw new SchoolbellError('conflict', 'There is no old secret that still works.');
      return { to: backTo(visit) };
    },
  },
  stateAction('pause', 'Paused. From this moment nothing can be read, and calls that were waiting were stopped.'),
  stateAction('resume', 'Resumed.'),
  stateAction('revoke', 'Revoked. From this moment nothing can be read, and calls that were waiting were stopped.'),
];

function showSecret(visit: Visit, title: string, secret: string, old: string): Shown {
  const shown = renderShownOnce({
    secrets: [{ id: 'school-secret', label: 'School secret', value: secret }],
    more: html`<p>${old}</p>`,
    back: { path: backTo(visit), label: 'back to the application at this school' },
  });
  return renderConsole(visit, { title, section: 'schools', body: html`<h1>${title}</h1>${shown}` });
}
