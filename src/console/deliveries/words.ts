// In charge of the words for deliveries and targets, and of what their pages have in common.
import { nameApplications } from '../../access/applications.ts';
import { html, type Html } from '../../http/html.ts';
import { renderBadge, type Badge } from '../../http/pages/badge.ts';
import type { Choice } from '../../http/pages/field.ts';
import type { Filter } from '../../http/pages/filters.ts';
import { formatExact } from '../../http/pages/moment.ts';
import { showSteering } from '../../http/printable.ts';
import type { DeliveryEvent } from '../../notifications/browse-deliveries.ts';
import type { Delivery, DeliveryState } from '../../notifications/deliveries.ts';
import type { TargetKind } from '../../notifications/target-id.ts';
import type { Target } from '../../notifications/targets.ts';
import type { ConsoleParts } from '../visit.ts';

export const eventWords: Readonly<Record<DeliveryEvent, string>> = {
  authentication: 'Authentication event',
  availability: 'Data availability',
  writeback: 'Writeback outcome',
  database: 'Database event',
  test: 'Test',
};

export const describeEvent = (event: string | null) => eventWords[event as DeliveryEvent] ?? showSteering(event ?? 'Call');

export const stateWords: Readonly<Record<DeliveryState, string>> = {
  waiting: 'Waiting',
  running: 'Being sent',
  done: 'Delivered',
  failed: 'Failed',
  superseded: 'Superseded',
  cancelled: 'Cancelled',
};

const tones: Readonly<Record<DeliveryState, Badge['tone']>> = {
  waiting: 'wait',
  running: 'busy',
  done: 'good',
  failed: 'bad',
  superseded: 'off',
  cancelled: 'off',
};

export function renderState({ state, attempts, pausedAt }: Pick<Delivery, 'state' | 'attempts' | 'pausedAt'>): Html {
  if (state !== 'waiting') return renderBadge({ badge: stateWords[state], tone: tones[state] });
  if (pausedAt !== null) return renderBadge({ badge: 'Waiting: paused', tone: 'off' });
  return renderBadge({ badge: attempts > 0 ? 'Trying again' : stateWords.waiting, tone: attempts > 0 ? 'wait' : 'busy' });
}

/** One that is given up and paused is both. */
export function renderTargetState({ disabledAt, pausedAt, failingSince, openUntil }: Target): Html {
  const badges: Badge[] = [];
  if (disabledAt) badges.push({ badge: 'Disabled', tone: 'bad' });
  if (pausedAt) badges.push({ badge: 'Paused', tone: 'off' });
  if (badges.length === 0) badges.push(failingSince ? { badge: openUntil ? 'Failing, held back' : 'Failing', tone: 'bad' } : { badge: 'OK', tone: 'good' });
  return html`${badges.map((badge) => html`${renderBadge(badge)} `)}`;
}

export const targetKinds: Readonly<Record<TargetKind, string>> = {
  registration: 'Registration',
  callback: 'Callback URL',
  'one-off': 'One-off URLs',
};

/** Whatever somebody else wrote: text, in its own place, with nothing in it that steers. */
export const asSent = (text: string) => html`<bdi class="as-sent">${showSteering(text)}</bdi>`;

const longestUrl = 90;

/** Never a link: it is called by us, with a signature. */
export function renderUrl(url: string | null, longest = longestUrl): Html {
  const shown = url ?? '';
  return asSent(shown.length > longest ? `${shown.slice(0, longest)}…` : shown);
}

export const renderMethod = (method: string | null | undefined) => html`<code>${showSteering(method ?? '')}</code>`;

/** More than these nobody looks through, and a page that is fetched every two seconds would carry them all. */
const mostChoices = 200;

/** Undefined: there are too many, and the one that is meant is typed. */
export async function listChoices({ db }: ConsoleParts): Promise<Choice[] | undefined> {
  const named = await nameApplications(db, mostChoices + 1);
  if (named.length > mostChoices) return undefined;
  return named.map(({ rp, name }) => ({ value: rp, label: name === rp ? rp : `${name} (${rp})` }));
}

export function describeApplicationFilter(value: string, choices: readonly Choice[] | undefined): Filter {
  if (choices === undefined) return { name: 'rp', label: 'Application (rp)', value, kind: 'text' };
  return { name: 'rp', label: 'Application', value, kind: 'choice', all: 'Any application', choices };
}

export const lookedBackWords = (to: Date) => `Looked back to ${formatExact(to)}.`;
