// In charge of a OneRoster provider for tests: a small school on a real port, which can be told to misbehave.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import type { CollectionName } from '../src/roster/resource.ts';

export type Data = Partial<Record<CollectionName, Record<string, unknown>[]>>;
export type Asked = Readonly<{
  collection: CollectionName;
  limit: number;
  offset: number;
  filter: string | null;
  authorization: string | undefined;
  query: string;
}>;
/** What is about to be answered; a test changes what it likes. */
export type Reply = {
  status: number;
  headers: Record<string, string>;
  body: unknown;
  records: Record<string, unknown>[];
  total: number | undefined;
  end: 'well' | 'broken' | 'never';
};
export type Login = Readonly<{ path: string; authorization: string | undefined; body: string }>;

export type FakeProvider = {
  readonly url: string;
  /** The path under which everything is. */
  root: string;
  data: Data;
  /** Documents of itself that were asked for, in order, with the credentials that came along. */
  discovered: { name: string; authorization: string | undefined }[];
  discovery: (name: string, reply: Reply) => void;
  /** Lists that were asked for, in order. */
  asked: Asked[];
  logins: Login[];
  misbehave: (asked: Asked, reply: Reply) => void;
  login: (login: Login, reply: Reply) => void;
  behave(): void;
  stop(): void;
};

const usualRoot = '/ims/oneroster/v1p1';
const basic = `Basic ${Buffer.from('id:secret').toString('base64')}`;
const dated = (sourcedId: string, more: Record<string, unknown>) => ({ sourcedId, status: 'active', dateLastModified: '2026-09-01T08:00:00.000Z', ...more });
const to = (sourcedId: string) => ({ href: `https://elsewhere.example/${sourcedId}`, sourcedId, type: 'any' });

export const fakeUser = (at: number) =>
  dated(`u${String(at).padStart(5, '0')}`, {
    username: `name${at}`,
    enabledUser: true,
    givenName: 'Given',
    familyName: `Family ${at}`,
    role: 'student',
    orgs: [to('o1')],
    // As 1.2 has it.
    roles: [{ roleType: 'primary', role: 'student', org: to('o1') }],
  });

export function fakeSchool(users = 30): Data {
  return {
    orgs: [dated('o1', { name: 'School', type: 'school' })],
    academicSessions: [dated('t1', { title: 'Term', type: 'term', startDate: '2026-09-01', endDate: '2026-12-19', schoolYear: 2027 })],
    courses: [dated('c1', { title: 'Maths', org: to('o1') })],
    classes: [dated('k1', { title: '7A', classType: 'homeroom', course: to('c1'), school: to('o1'), terms: [to('t1')] })],
    users: Array.from({ length: users }, (_, at) => fakeUser(at)),
    enrollments: Array.from({ length: 12 }, (_, at) =>
      dated(`e${at}`, { user: to(fakeUser(at).sourcedId), class: to('k1'), school: to('o1'), role: 'student' }),
    ),
    demographics: [dated(fakeUser(0).sourcedId, { sex: 'female' })],
  };
}

export async function useFakeProvider(): Promise<FakeProvider> {
  const server = createServer((request, response) => void answer(request, response));
  const behaved = () => ({
    root: usualRoot, data: fakeSchool(), asked: [], logins: [], discovered: [], misbehave: () => {}, login: () => {}, discovery: () => {},
  });
  const fake: FakeProvider = {
    ...behaved(),
    get url() {
      return `http://127.0.0.1:${port}${fake.root}`;
    },
    behave() {
      Object.assign(fake, behaved());
    },
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://fake');
    const { authorization } = request.headers;
    const { root } = fake;
    const reply: Reply = { status: 200, headers: { 'content-type': 'application/json' }, body: undefined, records: [], total: undefined, end: 'well' };
    if (request.method === 'POST') {
      let body = '';
      for await (const piece of request) body += String(piece);
      const login = { path: pathname.startsWith(root) ? pathname.slice(root.length) : pathname, authorization, body };
      fake.logins.push(login);
      reply.status = authorization === basic ? 200 : 401;
      reply.body = { access_token: `token${fake.logins.length}`, token_type: 'bearer', expires_in: 3600 };
      fake.login(login, reply);
      finish(response, reply);
      return;
    }
    const document = `${root}/discovery/`;
    if (pathname.startsWith(document)) {
      const name = pathname.slice(document.length);
      fake.discovered.push({ name, authorization });
      reply.status = 404;
      reply.body = '';
      fake.discovery(name, reply);
      finish(response, reply);
      return;
    }
    const collection = pathname.slice(root.length + 1) as CollectionName;
    const filter = searchParams.get('filter');
    const asked: Asked = {
      collection,
      limit: Number(searchParams.get('limit')),
      offset: Number(searchParams.get('offset')),
      filter,
      authorization,
      query: request.url ?? '',
    };
    fake.asked.push(asked);
    const since = /^dateLastModified>='(.*)'$/.exec(filter ?? '')?.[1];
    const all = (fake.data[collection] ?? []).filter((record) => since === undefined || Date.parse(String(record.dateLastModified)) >= Date.parse(since));
    reply.records = all.slice(asked.offset, asked.offset + asked.limit);
    reply.total = all.length;
    if (!fake.data[collection]) reply.status = 404;
    if (!/^Bearer token\d+$/.test(authorization ?? '')) reply.status = 401;
    fake.misbehave(asked, reply);
    if (reply.total !== undefined) reply.headers['x-total-count'] = String(reply.total);
    reply.body ??= reply.status === 200 ? { [collection]: reply.records } : {};
    finish(response, reply);
  }

  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  after(() => fake.stop());
  return fake;
}

function finish(response: ServerResponse, { status, headers, body, end }: Reply): void {
  if (end === 'never') return;
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  response.writeHead(status, { ...headers, 'content-length': bytes.length });
  if (end === 'well') response.end(bytes);
  else response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
}
