// In charge of a service whose console is used in tests: operators, and what they read and send.
import assert from 'node:assert/strict';
import { createHashPool } from '../src/access/hash-pool.ts';
import { formToken } from '../src/http/form-token.ts';
import { consoleCookie, openSession, type Role } from '../src/operators/sessions.ts';
import { useService, type Service } from './service.ts';

export type Read = { status: number; location: string | null; text: string; headers: Headers };

export type AtConsole = {
  /** What a browser holds. */
  cookie: string;
  token: string;
  get(path: string): Promise<Read>;
  /** With the form's token, unless another is given. */
  post(path: string, fields?: Readonly<Record<string, string>>): Promise<Read>;
};

/** More than any list of the tests has; a key that stands still would never end. */
const mostPages = 30;

/** A list from that address on, page by page, to its end. */
export async function readToEnd({ get }: Pick<AtConsole, 'get'>, path: string): Promise<string[]> {
  const pages: string[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    assert.ok(pages.length < mostPages, `${path} does not end: ${next}`);
    const { status, text }: Read = await get(next);
    assert.equal(status, 200, next);
    pages.push(text);
    next = /<a href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
  }
  return pages;
}

export type ConsoleService = { service: Service; enter(role?: Role, name?: string, applications?: readonly string[]): Promise<AtConsole> };

type Given = Parameters<typeof useService>;

export async function useConsole(env: Given[0] = {}, parts: Given[1] = {}): Promise<ConsoleService> {
  // One thread is enough, and ends with the service.
  const service = await useService(env, { hashing: createHashPool({ threads: 1, longestWaitMs: 120_000, longestTurnMs: 60_000 }), ...parts });
  return { service, enter: (role = 'admin', name: string = role, applications = []) => enter(service, role, name, applications) };
}

/** At the console of any service. applications: of a developer. */
export async function enter({ db, url }: Service, role: Role, name: string = role, applications: readonly string[] = []): Promise<AtConsole> {
  const [account] = await db<{ id: string }[]>`
    insert into console_account (sign_in_name, name, role, created_by) values (${name}, ${`Operator ${name}`}, ${role}, 'test')
    on conflict (sign_in_name) do update set role = excluded.role returning id`;
  for (const rp of applications)
    await db`insert into console_developer (account, rp, added_by) values (${account?.id ?? ''}, ${rp}, 'test') on conflict do nothing`;
  const opened = await db.begin((tx) => openSession(tx, account?.id ?? '', { address: '127.0.0.1', publicUrl: url, shown: true }));
  const cookie = opened.cookie.split(';', 1)[0] ?? '';
  const token = formToken(cookie.slice(consoleCookie.name.length + 1));
  const send = async (path: string, init: RequestInit): Promise<Read> => {
    const response = await fetch(`${url}${path}`, { redirect: 'manual', ...init, headers: { accept: 'text/html', cookie, ...init.headers } });
    return { status: response.status, location: response.headers.get('location'), text: await response.text(), headers: response.headers };
  };
  return {
    cookie,
    token,
    get: (path) => send(path, {}),
    post: (path, fields = {}) => send(path, { method: 'POST', body: new URLSearchParams({ token, ...fields }) }),
  };
}
