// In charge of establishments: the schools.
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { noteStanding } from '../roster/standing.ts';

export type Establishment = { estab: string; name: string; email: string; timeZone: string; connector: string | null; confirmed: boolean };

export type EstablishmentChange = Partial<Record<'name' | 'email' | 'timeZone', string | undefined>>;

/** Ids that stand for something else in an address: this folder, the one above. */
export const isDots = (id: string) => id === '.' || id === '..';

type NewEstablishment = { estab: string; name: string; email: string; timeZone?: string | undefined; confirmed?: boolean };

export async function addEstablishment(db: Db, given: NewEstablishment): Promise<Establishment> {
  return db.begin((tx) => insertEstablishment(tx, given));
}

/**
 * Adds a school, for a caller that does more in the same transaction. A confirmed school takes the place of an unconfirmed proposal with
 * the same id: an application must not be able to keep a school out by naming it first.
 */
export async function insertEstablishment(tx: Tx, given: NewEstablishment): Promise<Establishment> {
  requireUsable(given);
  const timeZone = given.timeZone ?? 'Europe/London';
  const confirmed = given.confirmed !== false;
  const [added] = await tx<{ connector: string | null }[]>`
    insert into establishment (estab, name, email, time_zone, confirmed_at)
    values (${given.estab}, ${given.name}, ${given.email}, ${timeZone}, ${confirmed ? tx`now()` : null})
    on conflict (estab) do update set name = excluded.name, email = excluded.email, time_zone = excluded.time_zone, confirmed_at = excluded.confirmed_at
      where establishment.confirmed_at is null and excluded.confirmed_at is not null
    returning connector`;
  if (!added) throw new SchoolbellError('conflict', `the establishment ${given.estab} exists already`);
  const isNew = await tx`insert into roster (estab) values (${given.estab}) on conflict do nothing returning estab`;
  if (isNew.length > 0) await noteStanding(tx, given.estab);
  return { estab: given.estab, name: given.name, email: given.email, timeZone, connector: added.connector, confirmed };
}

/** Throws one error that lists every fault in the details of a school, named as the options of the commands. */
export function requireUsable({ estab, name, email, timeZone }: EstablishmentChange & { estab?: string }): void {
  const faults: string[] = [];
  if (estab !== undefined && !/^[A-Za-z0-9._-]{1,32}$/.test(estab))
    faults.push(`--estab "${estab}": 1 to 32 of A-Z a-z 0-9 . _ - (in England the seven-digit LAESTAB)`);
  if (estab !== undefined && isDots(estab)) faults.push(`--estab "${estab}": no address could hold it; choose another`);
  if (name?.trim() === '') faults.push('--name: must not be empty');
  if (email !== undefined && !/^[^\s@]+@[^\s@]+$/.test(email)) faults.push(`--email "${email}": not an e-mail address`);
  if (timeZone !== undefined && !Intl.supportedValuesOf('timeZone').includes(timeZone) && timeZone !== 'UTC')
    faults.push(`--time-zone "${timeZone}": not a time zone such as Europe/London`);
  if (faults.length > 0) throw new SchoolbellError('invalid_request', faults.join('; '));
}

/** What is not given stays. Links to an address that moved are for the caller, in the same transaction. */
export async function changeEstablishment(tx: Tx, estab: string, change: EstablishmentChange): Promise<void> {
  requireUsable(change);
  await tx`
    update establishment set name = coalesce(${change.name ?? null}, name), email = coalesce(${change.email ?? null}, email),
      time_zone = coalesce(${change.timeZone ?? null}, time_zone) where estab = ${estab}`;
}

export async function requireEstablishment(db: Db, estab: string): Promise<Establishment> {
  const [found] = await db<
    Establishment[]
  >`select estab, name, email, time_zone as "timeZone", connector, confirmed_at is not null as confirmed from establishment where estab = ${estab}`;
  if (!found) throw new SchoolbellError('not_found', `there is no establishment ${estab}; add it with: school add --estab ${estab} --name … --email …`);
  return found;
}

/** Whether there is a school yet, or an application. */
export async function hasBegun(db: Db): Promise<boolean> {
  const [row] = await db<{ begun: boolean }[]>`select exists (select from establishment) or exists (select from application) as begun`;
  return row?.begun ?? false;
}
