// The mails that schools get about applications, as text and as HTML. Names that others typed are shown as text.
import { scopeDescriptions, type Scope } from '../access/scopes.ts';
import { writeLetter, type Letter } from '../mail/letter.ts';
import { linkDays } from './links.ts';

export function renderInvitation(given: { school: string; application: string; reason: string | null; link: string }): Letter {
  return writeLetter(`${given.application} asks for data of ${given.school}`, [
    `The application “${given.application}” asks ${given.school} to share data with it through Schoolbell.`,
    ...(given.reason ? [`It says why: “${given.reason}”`] : []),
    'Nothing is shared unless you approve. On the following page you see what it asks for, with the numbers of your own school, and decide.',
    { link: given.link, label: 'See the request and decide' },
    `The link is for your school alone: do not pass it on. It opens for ${linkDays} days, or until you have decided.`,
  ]);
}

export function renderSignIn(given: { school: string; link: string }): Letter {
  return writeLetter(`Your link to the data sharing of ${given.school}`, [
    `Somebody asked for a link to the pages where ${given.school} decides which applications it shares data with.`,
    { link: given.link, label: 'Open the pages of your school' },
    'It opens for one hour. If it was not you who asked, nothing needs to be done.',
  ]);
}

/** The scopes that a decision added to a grant and took away from it. */
export type ScopeChange = Readonly<{ added: readonly string[]; removed: readonly string[] }>;

type Receipt = {
  what: 'approved' | 'declined' | 'paused' | 'resumed' | 'revoked' | ScopeChange;
  actor: string;
  school: string;
  application: string;
  scopes: readonly string[];
  at: Date;
  timeZone: string;
  publicUrl: string;
};

const decisions: Readonly<Record<Extract<Receipt['what'], string>, string>> = {
  approved: 'may read data of',
  declined: 'was declined by',
  paused: 'was paused by',
  resumed: 'may read data again of',
  revoked: 'may no longer read data of',
};

function describeDecision(what: Receipt['what']): string {
  if (typeof what === 'string') return decisions[what];
  if (what.added.length === 0) return 'may now read less data of';
  return what.removed.length === 0 ? 'may now read more data of' : 'may now read other data of';
}

function listScopes(heading: string, scopes: readonly string[]): string[] {
  if (scopes.length === 0) return [];
  return [heading, ...scopes.map((scope) => `– ${scopeDescriptions[scope as Scope].description} (${scope})`)];
}

function listGrant(what: Receipt['what'], scopes: readonly string[]): string[] {
  if (typeof what === 'string') return listScopes('It may use:', scopes);
  const kept = scopes.filter((scope) => !what.added.includes(scope));
  return [...listScopes('It may no longer use:', what.removed), ...listScopes('It may now also use:', what.added), ...listScopes('It may still use:', kept)];
}

const takesAway = (what: Receipt['what']) => (typeof what === 'string' ? what === 'revoked' : what.removed.length > 0);

/** For the school's files: what was decided, when and by whom. */
export function renderReceipt({ what, actor, school, application, scopes, at, timeZone, publicUrl }: Receipt): Letter {
  const decision = describeDecision(what);
  const when = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long', timeZone }).format(at);
  return writeLetter(`Receipt: “${application}” ${decision} ${school}`, [
    `“${application}” ${decision} ${school}.`,
    `Decided on ${when}, ${actor === 'school' ? 'on the pages of the school' : 'by the operator on behalf of the school'}.`,
    ...listGrant(what, scopes),
    ...(takesAway(what) ? ['The application still has the data that it has read before. Ask it to delete what it no longer needs.'] : []),
    { link: `${publicUrl}/school`, label: 'Change this at any time' },
  ]);
}
