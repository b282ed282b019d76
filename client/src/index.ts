// In charge of what the package offers, and of the one way in: createClient.
import { settle, type ClientOptions } from './call.ts';
import { rosterA, rosterB, type Roster } from './rostering.ts';

export { SchoolbellError, VersionGone } from './errors.ts';
export type { ClientOptions } from './call.ts';
export type { Variant } from './dialects.ts';
export type { Filter, Where } from './filter.ts';
export type { ListName, ListOptions, RawRoster, RecordOf, Roster } from './rostering.ts';
export type { Page, Question } from './walk.ts';
export type * from './records.ts';

export type Client = {
  /** Rosters of every school that authorises the application (variant A). */
  roster(credential: { clientId: string; clientSecret: string }): Roster<'A'>;
  /** One school, with its secret; its roster is variant B. */
  school(credential: { estab: string; secret: string }): { roster: Roster<'B'> };
};

/** rp: the identifier of the application. */
export function createClient({ rp, ...options }: ClientOptions & { rp: string }): Client {
  const settings = settle(options);
  return {
    roster: (credential) => rosterA(settings, credential),
    school: (credential) => ({ roster: rosterB(settings, { rp, ...credential }) }),
  };
}
