// In charge of what the mails to schools say, as text and as HTML. Names typed by others are shown as text.
import { scopeDescriptions, type Scope } from '../access/scopes.ts';
import { html, type Html } from '../http/html.ts';
import { linkDays } from './links.ts';

type Letter = { subject: string; text: string; html: string };
type Paragraph = string | { link: string; label: string };

function write(subject: string, paragraphs: readonly Paragraph[]): Letter {
  const text = paragraphs.map((one) => (typeof one === 'string' ? one : `${one.label}:\n${one.link}`)).join('\n\n');
  const body: Html[] = paragraphs.map((one) => (typeof one === 'string' ? html`<p>${one}</p>` : html`<p><a href="${one.link}">${one.label}</a><br><small>${one.link}</small></p>`));
  return { subject: oneLine(subject), text: `${text}\n`, html: html`<!doctype html><html lang="en"><meta charset="utf-8"><title>${subject}</title><body style="font-family: sans-serif; max-width: 36em">${body}</body></html>`.text };
}

/** A name must not begin another header. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ').slice(0, 200);
}

export function renderInvitation(given: { school: string; application: string; reason: string | null; link: string }): Letter {
  return write(`${given.application} asks for data of ${given.school}`, [
    `The application “${given.application}” asks ${given.school} to share data with it through Schoolbell.`,
    ...(given.reason ? [`It says why: “${given.reason}”`] : []),
    'Nothing is shared unless you approve. On the following page you see what it asks for, with the numbers of your own school, and decide.',
    { link: given.link, label: 'See the request and decide' },
    `The link is for your school alone: do not pass it on. It opens for ${linkDays} days, or until you have decided.`,
  ]);
}

export function renderSignIn(given: { school: string; link: string }): Letter {
  return write(`Your link to the data sharing of ${given.school}`, [
    `Somebody asked for a link to the pages where ${given.school} decides which applications it shares data with.`,
    { link: given.link, label: 'Open the pages of your school' },
    'It opens for one hour. If it was not you who asked, nothing needs to be done.',
  ]);
}

type Receipt = { what: 'approved' | 'declined' | 'paused' | 'resumed' | 'revoked' | 'changed'; actor: string; school: string; application: string; scopes: readonly string[]; at: Date; timeZone: string; publicUrl: string };

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
  return write(`Receipt: “${application}” ${said[what]} ${school}`, [
    `“${application}” ${said[what]} ${school}.`,
    `Decided on ${when}, ${actor === 'school' ? 'on the pages of the school' : 'by the operator on behalf of the school'}.`,
    ...(scopes.length > 0 ? ['It may use:', ...scopes.map((scope) => `– ${scopeDescriptions[scope as Scope].description} (${scope})`)] : []),
    ...(what === 'revoked' ? ['Data that the application has read before is with the application; ask it to delete what it no longer needs.'] : []),
    { link: `${publicUrl}/school`, label: 'Change this at any time' },
  ]);
}
