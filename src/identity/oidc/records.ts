// In charge of what the OpenID Connect provider keeps, in PostgreSQL, so that any process may go on with a sign-in.
import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { Db } from '../../db/connect.ts';
import { findClient } from './clients.ts';

type Row = { payload: AdapterPayload; consumedAt: number | null };

/** A session of whom `isHere` does not know any more is none. */
export function createRecords(db: Db, isHere: (accountId: string) => Promise<boolean>): new (model: string) => Adapter {
  return class Records implements Adapter {
    readonly #model: string;

    constructor(model: string) {
      this.#model = model;
    }

    async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
      await db`
        insert into oidc_record (model, id, payload, grant_id, uid, user_code, expires_at)
        values (${this.#model}, ${id}, ${db.json(payload)}, ${payload.grantId ?? null}, ${payload.uid ?? null}, ${payload.userCode ?? null},
          ${expiresIn ? db`now() + make_interval(secs => ${expiresIn})` : null})
        on conflict (model, id) do update set payload = excluded.payload, grant_id = excluded.grant_id, uid = excluded.uid, user_code = excluded.user_code,
          expires_at = excluded.expires_at`;
    }

    async find(id: string): Promise<AdapterPayload | undefined> {
      if (this.#model === 'Client') return findClient(db, id);
      return this.#one(
        await db<
          Row[]
        >`select payload, extract(epoch from consumed_at)::int as "consumedAt" from oidc_record where model = ${this.#model} and id = ${id}
          and (expires_at is null or expires_at > now())`,
      );
    }

    async findByUid(uid: string): Promise<AdapterPayload | undefined> {
      return this.#one(
        await db<
          Row[]
        >`select payload, extract(epoch from consumed_at)::int as "consumedAt" from oidc_record where model = ${this.#model} and uid = ${uid}
          and (expires_at is null or expires_at > now())`,
      );
    }

    async findByUserCode(code: string): Promise<AdapterPayload | undefined> {
      return this.#one(
        await db<
          Row[]
        >`select payload, extract(epoch from consumed_at)::int as "consumedAt" from oidc_record where model = ${this.#model} and user_code = ${code}
          and (expires_at is null or expires_at > now())`,
      );
    }

    async #one([row]: Row[]): Promise<AdapterPayload | undefined> {
      if (this.#model === 'Session' && row?.payload.accountId !== undefined && !(await isHere(row.payload.accountId))) return undefined;
      return row && { ...row.payload, ...(row.consumedAt === null ? {} : { consumed: row.consumedAt }) };
    }

    async consume(id: string): Promise<void> {
      await db`update oidc_record set consumed_at = now() where model = ${this.#model} and id = ${id}`;
    }

    async destroy(id: string): Promise<void> {
      await db`delete from oidc_record where model = ${this.#model} and id = ${id}`;
    }

    async revokeByGrantId(grantId: string): Promise<void> {
      await db`delete from oidc_record where grant_id = ${grantId}`;
    }
  };
}
