// In charge of what the package offers, and of the one way in: createClient.
import { settle, type ClientOptions } from './call.ts';
import { createManagement, type Management } from './management.ts';
import { rosterA, type Roster } from './rostering.ts';
import { createSchool, type School } from './school.ts';

export { createCallbacks, type Callbacks } from './callbacks.ts';
export { SchoolbellError, VersionGone } from './errors.ts';
export { InvalidMarks } from './writeback.ts';
export type { ClientOptions } from './call.ts';
export type { Variant } from './dialects.ts';
export type { DatabaseState, DatabaseStatus, DbStatus } from './envelope.ts';
export type { Filter, Where } from './filter.ts';
export type { Identity, IdentityUser, ManualUser, QrCodeOptions } from './identity.ts';
export type { Invitation, Invited, Management, OwnSchool, SchoolState } from './management.ts';
export type * from './records.ts';
export type { ListName, ListOptions, RawRoster, RecordOf, Roster } from './rostering.ts';
export type * from './rows.ts';
export type { DataOptions, DataPage, EndpointName, RowOf, SchoolData } from './school-data.ts';
export type { School } from './school.ts';
export type { Attempt, Deliveries, Delivery, DeliveryOptions, Webhook, Webhooks } from './subscriptions.ts';
export type { Page, Question } from './walk.ts';
export type { JudgedMarks, Mark, MarkFault, OutcomeMark, Writeback, WritebackOutcome, WritebackPending, WriteOptions } from './writeback.ts';

export type Client = {
  /** Rosters of every school that authorises the application (variant A). */
  roster(credential: { clientId: string; clientSecret: string }): Roster<'A'>;
  /** One school, with the secret that it gave the application. */
  school(credential: { estab: string; secret: string }): School;
  /** The application itself, with its management secret. */
  management(credential: { secret: string }): Management;
};

/** rp: the identifier of the application. */
export function createClient({ rp, ...options }: ClientOptions & { rp: string }): Client {
  const settings = settle(options);
  return {
    roster: once((credential) => rosterA(settings, credential)),
    school: once((credential) => createSchool(settings, { rp, ...credential })),
    management: once((credential) => createManagement(settings, { rp, ...credential })),
  };
}

const mostKept = 10_000;

/** The same for the same credential: whoever asks anew at each request of its own goes on with the token that there is. */
function once<C extends Record<string, string>, T>(make: (credential: C) => T): (credential: C) => T {
  const made = new Map<string, T>();
  return (credential) => {
    const key = JSON.stringify(Object.entries(credential).toSorted());
    const found = made.get(key) ?? make(credential);
    // Secrets change: what was not asked for in a long time is not kept.
    made.delete(key);
    made.set(key, found);
    if (made.size > mostKept) made.delete(made.keys().next().value as string);
    return found;
  };
}

export { sync, type RosterChange, type SyncOptions, type SyncResult } from './sync.ts';
export { LeaseLost, SameIdTwice, ShrinkageHeld, SyncBusy, SyncError, SyncUnsettled } from './sync-errors.ts';
export type { Guard } from './sync-guard.ts';
export type { Store } from './sync-store.ts';
