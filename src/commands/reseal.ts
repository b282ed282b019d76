// Encrypts every stored value again with the first key of SECRET_KEY. Each row is replaced by one statement that applies only while
// the row is unchanged since it was read, so that the command may run beside the service, die and be repeated.
import type { Seal } from '../access/seal.ts';
import { sealedAs, type SealedAs } from '../access/sealed-as.ts';
import { ConfigError } from '../config.ts';
import type { Db } from '../db/connect.ts';
import { callKind } from '../notifications/webhooks.ts';

/** `rp` is empty in places whose rows belong to no application. */
type Found = { id: string; rp: string; name: string; sealed: Uint8Array };
type Replacing = { id: string; from: Uint8Array; to: Uint8Array };
type Place = { what: string; find(db: Db): Promise<Found[]>; as(row: Found): SealedAs; replace(db: Db, row: Replacing): Promise<unknown> };
type PlaceOfSchool = {
  what: string;
  find(db: Db, estab: string): Promise<Found[]>;
  as(row: Found, estab: string): SealedAs;
  replace(db: Db, estab: string, row: Replacing): Promise<unknown>;
};

/** Expired secrets and retired keys are not decrypted any more, and stay as they are. */
const places: readonly Place[] = [
  {
    what: 'keys of single sign-on',
    find: (db) => db<Found[]>`
      select id::text as id, '' as rp, 'the keys of single sign-on made at ' || created_at as name, sealed
      from provider_key where trusted_until is null or trusted_until > now()`,
    as: ({ id }) => sealedAs.providerKeys(id),
    replace: (db, { id, from, to }) => db`update provider_key set sealed = ${to} where id = ${id} and sealed = ${from}`,
  },
  {
    what: 'signing secrets',
    find: (db) => db<Found[]>`
      select id::text as id, rp, 'the signing secret of ' || rp as name, sealed
      from application_secret where sealed is not null and (valid_until is null or valid_until > now())`,
    as: ({ rp, id }) => sealedAs.signingSecret(rp, id),
    replace: (db, { id, from, to }) => db`update application_secret set sealed = ${to} where id = ${id} and sealed = ${from}`,
  },
  {
    what: 'keys of inboxes',
    find: (db) => db<Found[]>`select id::text as id, rp, 'the key of the inbox ' || name || ' of ' || rp as name, sealed_key as sealed from inbox`,
    as: ({ rp, id }) => sealedAs.inboxKey(rp, id),
    replace: (db, { id, from, to }) => db`update inbox set sealed_key = ${to} where id = ${id} and sealed_key = ${from}`,
  },
  {
    what: 'second factors of operators',
    find: (db) => db<Found[]>`
      select id::text as id, '' as rp, 'the second factor of ' || sign_in_name as name, sealed_totp as sealed
      from console_account where sealed_totp is not null`,
    as: ({ id }) => sealedAs.secondFactor(id),
    replace: (db, { id, from, to }) => db`update console_account set sealed_totp = ${to} where id = ${id} and sealed_totp = ${from}`,
  },
  {
    what: 'passphrase of backups',
    find: (db) => db<Found[]>`select id::text as id, '' as rp, 'the passphrase of the plan of backups' as name, sealed_passphrase as sealed from backup_plan`,
    as: ({ id }) => sealedAs.backupPassphrase(id),
    replace: (db, { id, from, to }) => db`update backup_plan set sealed_passphrase = ${to} where id = ${id} and sealed_passphrase = ${from}`,
  },
];

const placesOfSchools: readonly PlaceOfSchool[] = [
  {
    what: 'school secrets',
    find: (db, estab) => db<Found[]>`
      select id::text as id, rp, 'the school secret of ' || rp || ' at ' || estab as name, sealed
      from school_secret where estab = ${estab} and sealed is not null`,
    as: ({ rp, id }, estab) => sealedAs.schoolSecret(estab, rp, id),
    replace: (db, estab, { id, from, to }) => db`update school_secret set sealed = ${to} where estab = ${estab} and id = ${id} and sealed = ${from}`,
  },
  {
    what: 'connector credentials',
    find: (db, estab) => db<Found[]>`
      select estab as id, '' as rp, 'the connector credentials of ' || estab as name, sealed_credentials as sealed
      from connector_setting where estab = ${estab} and sealed_credentials is not null`,
    as: (_row, estab) => sealedAs.connectorCredentials(estab),
    replace: (db, estab, { from, to }) => db`update connector_setting set sealed_credentials = ${to} where estab = ${estab} and sealed_credentials = ${from}`,
  },
  {
    what: 'authentication events',
    find: (db, estab) => db<Found[]>`
      select id, coalesce(rp, '') as rp, 'the authentication event ' || id || ' of ' || estab as name, body as sealed from outbox
      where estab = ${estab} and kind = ${callKind} and body is not null and (payload ->> 'sealed')::boolean`,
    as: ({ rp, id }, estab) => sealedAs.authenticationEvent(estab, rp, id),
    replace: (db, estab, { id, from, to }) => db`update outbox set body = ${to} where estab = ${estab} and id = ${id} and body = ${from}`,
  },
];

/** Comes last, because each start of the service decrypts it: a process that got the new key alone too early refuses to start. */
const tokenKeys: Place = {
  what: 'token keys',
  find: (db) => db<Found[]>`
    select kid as id, '' as rp, 'the token key ' || kid as name, sealed_private_jwk as sealed from token_key where sealed_private_jwk is not null`,
  as: ({ id }) => sealedAs.tokenKey(id),
  replace: (db, { id, from, to }) => db`update token_key set sealed_private_jwk = ${to} where kid = ${id} and sealed_private_jwk = ${from}`,
};

export type Resealed = {
  places: { what: string; found: number; resealed: number }[];
  /** Names of the values that no key decrypts. */
  unopened: string[];
  /** Values that a process encrypted with an older key while the command ran. */
  sealedMeanwhile: number;
};

export async function resealEverything(db: Db, seal: Seal): Promise<Resealed> {
  const first = await walk(db, seal);
  // Only a walk that finds nothing to do has shown that the older keys may go.
  const again = await walk(db, seal);
  return { places: first.places, unopened: again.unopened, sealedMeanwhile: again.places.reduce((sum, { resealed }) => sum + resealed, 0) };
}

async function walk(db: Db, seal: Seal): Promise<Omit<Resealed, 'sealedMeanwhile'>> {
  const counts = new Map([...places, ...placesOfSchools, tokenKeys].map(({ what }) => [what, { what, found: 0, resealed: 0 }]));
  const unopened: string[] = [];

  async function take(
    what: string,
    rows: readonly Found[],
    as: (row: Found) => SealedAs,
    replace: (row: Replacing) => Promise<unknown>,
  ): Promise<void> {
    const count = counts.get(what) ?? { what, found: 0, resealed: 0 };
    for (const row of rows) {
      const { id, name, sealed } = row;
      count.found += 1;
      try {
        const to = seal.reseal(sealed, as(row));
        if (!to) continue;
        await replace({ id, from: sealed, to });
        count.resealed += 1;
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        unopened.push(name);
      }
    }
  }

  for (const place of places) await take(place.what, await place.find(db), place.as, (row) => place.replace(db, row));
  for (const { estab } of await db<{ estab: string }[]>`select estab from establishment order by estab`) {
    for (const place of placesOfSchools) {
      await take(place.what, await place.find(db, estab), (row) => place.as(row, estab), (row) => place.replace(db, estab, row));
    }
  }
  await take(tokenKeys.what, await tokenKeys.find(db), tokenKeys.as, (row) => tokenKeys.replace(db, row));
  return { places: [...counts.values()], unopened };
}
