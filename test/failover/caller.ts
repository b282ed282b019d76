// In charge of how the application of a drill calls: its credentials and tokens at each school, through the book in which every
// request stands.
import { root12, rootA, rootB } from '../service.ts';
import { kinds, type Answered, type AskBook, type Kind } from './ask-book.ts';
import type { DrillApplication, DrillSchool } from './school.ts';

export type SchoolCaller = {
  school: DrillSchool;
  /** Behind the root of variant B. */
  b(kind: Kind, path: string): Promise<Answered>;
  /** Behind /api/v1/, with the school token. */
  s(kind: Kind, path: string, init?: RequestInit): Promise<Answered>;
  /** The address to which the school's job sends packages. */
  job(kind: Kind, path: string, init?: RequestInit): Promise<Answered>;
  tokenB(): Promise<Answered>;
  schoolToken(): Promise<Answered>;
};

export type Caller = {
  schools: readonly SchoolCaller[];
  a(kind: Kind, path: string): Promise<Answered>;
  v12(kind: Kind, path: string): Promise<Answered>;
  tokenA(): Promise<Answered>;
  alive(): Promise<Answered>;
};

const basic = (user: string, secret: string) => ({ authorization: `Basic ${btoa(`${user}:${secret}`)}` });
const json = { 'content-type': 'application/json' };
const accessToken = ({ text }: Answered) => ({ authorization: `Bearer ${(JSON.parse(text) as { access_token: string }).access_token}` });

export async function openCaller(book: AskBook, url: string, application: DrillApplication): Promise<Caller> {
  const { rp, clientId, clientSecret } = application;
  const tokenA = () => book.ask(kinds.tokenA, `${url}${rootA}/token`, { method: 'POST', headers: basic(clientId, clientSecret) });
  const ofA = accessToken(await tokenA());
  const of12 = accessToken(await book.ask(kinds.tokenA, `${url}${root12}/token`, { method: 'POST', headers: basic(clientId, clientSecret) }));

  async function open(school: DrillSchool): Promise<SchoolCaller> {
    const { estab, schoolSecret, uploadToken } = school;
    const tokenB = () => book.ask(kinds.tokenB, `${url}${rootB}/auth/token`, { method: 'POST', headers: basic(`${rp}|${estab}`, schoolSecret) });
    const credentials = JSON.stringify({ estab, relyingParty: rp, password: schoolSecret });
    const schoolToken = () => book.ask(kinds.schoolToken, `${url}/api/oauth/GetToken`, { method: 'POST', headers: json, body: credentials });
    const ofB = accessToken(await tokenB());
    const ofSchool = { authorization: `Idaas ${(JSON.parse((await schoolToken()).text) as { token: string }).token}` };
    return {
      school,
      b: (kind, path) => book.ask(kind, `${url}${rootB}${path}`, { headers: ofB }),
      s: (kind, path, init = {}) =>
        book.ask(kind, `${url}/api/v1/${path}`, { ...init, headers: { ...(init.body ? json : {}), ...(init.headers as Record<string, string>), ...ofSchool } }),
      job: (kind, path, init = {}) =>
        book.ask(kind, `${url}/api/v1/School/${estab}/Roster${path}`, { ...init, headers: { authorization: `Bearer ${uploadToken}` } }),
      tokenB,
      schoolToken,
    };
  }

  return {
    schools: await Promise.all(application.schools.map(open)),
    a: (kind, path) => book.ask(kind, `${url}${rootA}${path}`, { headers: ofA }),
    v12: (kind, path) => book.ask(kind, `${url}${root12}${path}`, { headers: of12 }),
    tokenA,
    alive: () => book.ask(kinds.alive, `${url}/healthz`),
  };
}
