// In charge of what the mails to schools say, as text and as HTML. Names typed by others are shown as text.
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

type Receipt = {
  what: 'approved' | 'declined' | 'paused' | 'resumed' | 'revoked' | 'changed';
  actor: string;
  school: string;
  application: string;
  scopes: readonly string[];
  at: Date;
  timeZone: string;
  publicUrl: string;
};

const said: Readonly<Record<Receipt['what'], string>> = {
  approved: 'may read data of',
  declined: 'was declined by',
  paused: 'was paused by',
  resumed: 'may read data again of',
  revoked: 'may no longer read data of',
  changed: 'may now read other data of',
};

/** For the school's files: what was decided, when and by whom. */
export function renderReceipt({ what, actor, school, application, scopes, at, timeZone, publicUrl }: Receipt): Letter {
  const when = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long', timeZone }).format(at);
  return writeLetter(`Receipt: “${application}” ${said[what]} ${school}`, [
    `“${application}” ${said[what]} ${school}.`,
    `Decided on ${when}, ${actor === 'school' ? 'on the pages of the school' : 'by the operator on behalf of the school'}.`,
    ...(scopes.length > 0 ? ['It may use:', ...scopes.map((scope) => `– ${scopeDescriptions[scope as Scope].description} (${scope})`)] : []),
    ...(what === 'revoked' ? ['Data that the application has read before is with the application; ask it to delete what it no longer needs.'] : []),
    { link: `${publicUrl}/school`, label: 'Change this at any time' },
  ]);
}
