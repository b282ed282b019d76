// In charge of somebody at a browser without scripts, for tests of signing in: cookies are kept, and a form is sent with the
// token of the page that was opened last.
import { createHashPool } from '../src/access/hash-pool.ts';
import { hashPassword } from '../src/access/passwords.ts';
import type { Db } from '../src/db/connect.ts';
import type { Role } from '../src/operators/sessions.ts';

export type Seen = { status: number; location: string | null; text: string; headers: Headers };
export type Visitor = {
  cookies: Map<string, string>;
  open(path: string): Promise<Seen>;
  /** With whatever headers besides. */
  send(path: string, fields?: Readonly<Record<string, string>>, headers?: Readonly<Record<string, string>>): Promise<Seen>;
  /** The same browser, with its cookies as they are now. */
  twin(): Visitor;
};

export function createVisitor(url: string, cookies = new Map<string, string>(), token = ''): Visitor {
  let last = token;
  const ask = async (path: string, init: RequestInit): Promise<Seen> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(`${url}${path}`, { redirect: 'manual', ...init, headers: { accept: 'text/html', cookie, ...init.headers } });
    for (const set of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (set.split(';', 1)[0] ?? '').split('=');
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    const text = await response.text();
    last = /name="token" value="([^"]+)"/.exec(text)?.[1] ?? last;
    return { status: response.status, location: response.headers.get('location'), text, headers: response.headers };
  };
  return {
    cookies,
    open: (path) => ask(path, {}),
    send: (path, fields = {}, headers = {}) => ask(path, { method: 'POST', body: new URLSearchParams({ token: last, ...fields }), headers }),
    twin: () => createVisitor(url, new Map(cookies), last),
  };
}

export const goodPassword = 'a horse that nobody rides';
let hash: Promise<string> | undefined;

function hashOnce(): Promise<string> {
  const pool = createHashPool({ threads: 1, longestWaitMs: 120_000, longestTurnMs: 60_000 });
  return pool.anyone((derive) => hashPassword(derive, goodPassword)).finally(() => pool.close());
}

/** Somebody who has chosen `goodPassword`. Gives the id. */
export async function addOperator(db: Db, signInName: string, role: Role = 'admin'): Promise<string> {
  const [added] = await db<{ id: string }[]>`
    insert into console_account (sign_in_name, name, email, role, password_hash, created_by)
    values (${signInName}, ${`Operator ${signInName}`}, ${signInName.includes('@') ? signInName : null}, ${role}, ${await (hash ??= hashOnce())}, 'test')
    returning id`;
  return added?.id ?? '';
}

export async function signIn(url: string, name: string, password = goodPassword): Promise<Visitor> {
  const visitor = createVisitor(url);
  await visitor.open('/console/sign-in');
  await visitor.send('/console/sign-in', { name, password });
  return visitor;
}
