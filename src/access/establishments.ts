// In charge of establishments: the schools.
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';

export type Establishment = { estab: string; name: string; email: string; timeZone: string; connector: string | null; confirmed: boolean };

export async function addEstablishment(
  db: Db,
  given: { estab: string; name: string; email: string; timeZone?: string | undefined; confirmed?: boolean },
): Promise<Establishment> {
  if (!/^[A-Za-z0-9._-]{1,32}$/.test(given.estab))
    throw new SchoolbellError('invalid_request', `--estab "${given.estab}": 1 to 32 of A-Z a-z 0-9 . _ - (in England the seven-digit LAESTAB)`);
  if (given.name.trim() === '') throw new SchoolbellError('invalid_request', '--name: must not be empty');
  if (!/^[^\s@]+@[^\s@]+$/.test(given.email)) throw new SchoolbellError('invalid_request', `--email "${given.email}": not an e-mail address`);
  const timeZone = given.timeZone ?? 'Europe/London';
  if (!Intl.supportedValuesOf('timeZone').includes(timeZone) && timeZone !== 'UTC')
    throw new SchoolbellError('invalid_request', `--time-zone "${timeZone}": not a time zone such as Europe/London`);
  return db.begin(async (tx) => {
    const added =
      await tx`insert into establishment (estab, name, email, time_zone, confirmed_at)
        values (${given.estab}, ${given.name}, ${given.email}, ${timeZone}, ${given.confirmed === false ? null : tx`now()`}) on conflict do nothing
          returning estab`;
    if (added.length === 0) throw new SchoolbellError('conflict', `the establishment ${given.estab} exists already`);
    await tx`insert into roster (estab) values (${given.estab})`;
    return { estab: given.estab, name: given.name, email: given.email, timeZone, connector: null, confirmed: given.confirmed !== false };
  });
}

export async function listEstablishments(db: Db): Promise<Establishment[]> {
  return db<
    Establishment[]
  >`select estab, name, email, time_zone as "timeZone", connector, confirmed_at is not null as confirmed from establishment order by estab`;
}

export async function requireEstablishment(db: Db, estab: string): Promise<Establishment> {
  const [found] = await db<
    Establishment[]
  >`select estab, name, email, time_zone as "timeZone", connector, confirmed_at is not null as confirmed from establishment where estab = ${estab}`;
  if (!found) throw new SchoolbellError('not_found', `there is no establishment ${estab}; add it with: school add --estab ${estab} --name … --email …`);
  return found;
}
