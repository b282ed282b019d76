// In charge of what a call means: which of the events it is, and its content, typed.
import type { DbStatus } from '../envelope.ts';
import type { SchoolState } from '../management.ts';
import type { DatabaseName, Scope } from '../rows.ts';
import type { WritebackOutcome } from '../writeback.ts';

/** id: the same over retries and replays. params: the query of the address that was called. */
type Common = { id: string; params: Readonly<Record<string, string>> };

/** A school has approved, its data is there (installComplete), or how it stands has changed (status). */
export type AuthenticationEvent = Common & {
  type: 'authentication';
  /** Keep it. Not there where only the state has changed. */
  schoolSecret: string | undefined;
  schoolId: string;
  schoolName: string;
  schoolEmail: string;
  templateScopes: Scope[];
  scopes: Scope[];
  thirdParty: string;
  partnerId: string;
  installComplete: boolean;
  status: SchoolState | undefined;
};
/** What was asked for with a callbackUrl is ready, or cannot be. */
export type AvailabilityEvent = Common & { type: 'availability'; status: DbStatus };
/** What became of marks. */
export type WritebackEvent = Common & { type: 'writeback'; outcome: WritebackOutcome };
/** estab and database are said where the registration asks for POST. */
export type DatabaseEvent = Common & { type: 'database'; estab: string | undefined; database: DatabaseName | undefined };
export type TestEvent = Common & { type: 'test'; estab: string | undefined; database: DatabaseName | undefined };
/** Of a later version of the service. */
export type UnknownEvent = Common & { type: 'unknown'; body: Uint8Array };

export type WebhookEvent = AuthenticationEvent | AvailabilityEvent | WritebackEvent | DatabaseEvent | TestEvent | UnknownEvent;

/** @internal A call as it arrived, its signature checked. */
export type Arrived = { method: string; url: string; contentType: string; isTest: boolean; body: Uint8Array };

/** @internal */
export function readEvent(id: string, { method, url, contentType, isTest, body }: Arrived): WebhookEvent {
  const common = { id, params: Object.fromEntries(new URL(url, 'http://localhost').searchParams) };
  const text = new TextDecoder().decode(body);
  const changed = (about: Record<string, unknown>): WebhookEvent => ({
    type: isTest ? 'test' : 'database',
    ...common,
    estab: about.Estab as string | undefined,
    database: about.DatabaseName as DatabaseName | undefined,
  });
  if (method === 'GET') return changed({});
  if (/urlencoded/i.test(contentType)) return readAuthentication(common, new URLSearchParams(text));
  const content = parse(text);
  if (Array.isArray(content.DBStatus)) return { type: 'availability', ...common, status: content as DbStatus };
  if (typeof content.TrackingId === 'string') return { type: 'writeback', ...common, outcome: content as WritebackOutcome };
  if (typeof content.DatabaseName === 'string') return changed(content);
  return { type: 'unknown', ...common, body };
}

function parse(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function readAuthentication(common: Common, form: URLSearchParams): AuthenticationEvent {
  const text = (name: string) => form.get(name) ?? '';
  const scopes = (name: string) => text(name).split(',').filter(Boolean) as Scope[];
  return {
    type: 'authentication',
    ...common,
    schoolSecret: form.get('schoolSecret') ?? undefined,
    schoolId: text('schoolId'),
    schoolName: text('schoolName'),
    schoolEmail: text('schoolEmail'),
    templateScopes: scopes('templateScopes'),
    scopes: scopes('scopes'),
    thirdParty: text('thirdParty'),
    partnerId: text('partnerId'),
    installComplete: text('installcomplete') === 'true',
    status: (form.get('status') as SchoolState | null) ?? undefined,
  };
}
