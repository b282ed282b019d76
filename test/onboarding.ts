// In charge of onboarding for tests: a service with mail and a receiver, applications that invite, commands as an
// operator gives them, and a school's browser without a browser: a cookie, pages and forms.
import assert from 'node:assert/strict';
import { text as readAll } from 'node:stream/consumers';
import yazl from 'yazl';
import { addApplication, type NewApplication } from '../src/access/applications.ts';
import { applicationCommands } from '../src/commands/application.ts';
import { authorisationCommands } from '../src/commands/authorisation.ts';
import type { Outcome } from '../src/commands/command.ts';
import { deliveryCommands } from '../src/commands/deliveries.ts';
import { mailCommands } from '../src/commands/mails.ts';
import { schoolCommands } from '../src/commands/school.ts';
import { secretCommands } from '../src/commands/secrets.ts';
import { uploadTokenCommands } from '../src/commands/upload-token.ts';
import { readConfig } from '../src/config.ts';
import type { CsvPackage } from '../src/collection/connectors/csv/package.ts';
import { makeSignInLink } from '../src/onboarding/links.ts';
import { useReceiver } from './delivery.ts';
import { until } from './until.ts';
import { receiveMail } from './mail-receiver.ts';
import { rootB, useService, type Service } from './service.ts';

export type Onboarding = Awaited<ReturnType<typeof useOnboarding>>;
export type Answered = { Schools: { Estab: string; Status: string; Message: string }[] };
/** A school's browser: what it asks carries the cookie, what it sends the token of the form. */
export type Visitor = {
  cookie: string;
  token: string;
  get(path: string): Promise<Response>;
  text(path: string): Promise<string>;
  post(path: string, fields: Record<string, string | string[]>): Promise<Response>;
  /** With what the page of the request carries. */ decide(path: string, fields: Record<string, string | string[]>): Promise<Response>;
  /** more: what else the form says in its address. */ upload(bytes: Uint8Array, more?: string): Promise<Response>;
};

const commands = [
  ...applicationCommands, ...secretCommands, ...authorisationCommands, ...deliveryCommands, ...mailCommands, ...schoolCommands, ...uploadTokenCommands,
];

export async function useOnboarding(env: Record<string, string> = {}, parts: Parameters<typeof useService>[1] = {}) {
  const mail = await receiveMail();
  const receiver = await useReceiver();
  const mailing = { SMTP_URL: mail.url, MAIL_FROM: 'Schoolbell <schoolbell@trust.example>' };
  const service = await useService({ ...mailing, OUTBOUND_ALLOW: '127.0.0.0/8', ...env }, parts);
  const { db, url, seal } = service;

  /** Its forms arrive under /<rp>. */
  async function addAsking(
    rp: string,
    scopes = 'School,Student,Staff:optional,Contact:optional',
    more: { name?: string; callbackUrl?: string } = {},
  ): Promise<
    NewApplication & {
      manage(method: string, body?: unknown, path?: string): Promise<Response>;
      invite(estab: string, given?: object): Promise<Answered['Schools'][number]>;
    }
  > {
    const application = await addApplication(db, seal, {
      rp,
      name: `Application ${rp}`,
      callbackUrl: `${receiver.origin}/${rp}`,
      scopes,
      redirectUris: [],
      ...more,
    });
    const manage = async (method: string, body?: unknown, path = '') => {
      const headers = {
        authorization: `Idaas ${await managementToken(url, rp, application.managementSecret)}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      };
      return fetch(`${url}/api/Manage/SchoolRegister${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    };
    return {
      ...application,
      manage,
      async invite(estab, given = {}) {
        const response = await manage('POST', {
          Schools: [{ Estab: estab, SchoolName: `School ${estab}`, SchoolContactEmail: `someone@elsewhere.example`, ...given }],
        });
        assert.equal(response.status, 200, await response.clone().text());
        const [school] = ((await response.json()) as Answered).Schools;
        assert.ok(school);
        return school;
      },
    };
  }

  /** As --json would print it. */
  async function run(name: string, options: Record<string, string | boolean> = {}, ...positionals: string[]): Promise<Outcome> {
    const command = commands.find((one) => one.name === name);
    assert.ok(command, name);
    const { data, ...outcome } = await command.run({ db, seal, config: readConfig({ PUBLIC_URL: url }) }, { options, positionals });
    return { ...outcome, data: JSON.parse(JSON.stringify(data)) as unknown };
  }

  async function openLink(link: string): Promise<Visitor> {
    const opened = await fetch(link, { redirect: 'manual' });
    assert.equal(opened.status, 303, `${link} does not open`);
    const [cookie = ''] = (opened.headers.get('set-cookie') ?? '').split(';');
    const get = (path: string) => fetch(`${url}${path}`, { headers: { cookie }, redirect: 'manual' });
    const text = async (path: string) => (await get(path)).text();
    const [, token = ''] = /name="token" value="([^"]+)"/.exec(await text('/school/home')) ?? [];
    return {
      cookie,
      token,
      get,
      text,
      decide: async (path, fields) => postForm(`${url}${path}`, cookie, { token, ...hiddenIn(await text(path)), ...fields }),
      post: (path, fields) => postForm(`${url}${path}`, cookie, { token, ...fields }),
      upload: (bytes, more = '') => {
        const form = new FormData();
        form.append('package', new Blob([Uint8Array.from(bytes)]), 'package.zip');
        const path = `/school/source/upload?token=${encodeURIComponent(token)}${more}`;
        return fetch(`${url}${path}`, { method: 'POST', headers: { cookie }, body: form, redirect: 'manual' });
      },
    };
  }

  return {
    service, db, url, mail, receiver, addAsking, run, openLink,
    signIn: async (estab: string) => openLink(`${url}/school/open/${await makeSignInLink(db, estab)}`),
    /** The id of the invitation that waits for a decision. */
    async openRequest(estab: string, rp: string): Promise<string> {
      const [row] = await db<{ id: string }[]>`select id from invitation where estab = ${estab} and rp = ${rp} and state = 'Invited'`;
      assert.ok(row, `${rp} asks nothing of ${estab}`);
      return row.id;
    },
    events: (estab: string) =>
      db<
        { rp: string; state: string; actor: string; scopes: string[] | null }[]
      >`select rp, state, actor, scopes from authorisation_event where estab = ${estab} order by number`,
    authorisations: (estab: string) =>
      db<
        { rp: string; state: string; scopes: string[]; installed: boolean }[]
      >`select rp, state, scopes, installed_at is not null as installed from authorisation where estab = ${estab} order by rp`,
    /** The authentication events that are stored, oldest first. */
    stored: (estab: string) => db<{ id: string; rp: string; state: string; body: Buffer | null; last: boolean; secretId: string; attempts: number }[]>`
      select id, rp, state, body, (payload ->> 'last')::boolean as last, payload ->> 'secretId' as "secretId", attempts from outbox where estab = ${estab}
        and payload ->> 'event' = 'authentication' order by seq`,
    /** What arrived at an application, as forms. */
    forms: (rp: string) =>
      receiver.arrivals
        .filter((one) => one.url === `/${rp}`)
        .map((one) => Object.fromEntries(new URLSearchParams(one.body.toString('utf8'))) as Record<string, string>),
    /** Domains are sent in small letters. */
    mailsTo: (address: string) => mail.mails.filter((one) => one.to.some((to) => to.toLowerCase() === address.toLowerCase())),
    /** Kept or sent: what the outbox holds for this address. */
    mailsOf: (estab: string) =>
      db<
        { to: string; subject: string; state: string }[]
      >`select payload ->> 'to' as to, payload ->> 'subject' as subject, state from outbox where kind = 'mail' and estab = ${estab} order by seq`,
    /** Whatever waits is due now, and whatever failed counts as long ago. */
    async hurry(): Promise<void> {
      await db`update outbox set due_at = now() where state = 'waiting'`;
      await db`update lane set next_at = now(), open_until = null, failures = 0 where disabled_at is null`;
      await db`select pg_notify('schoolbell_outbox', '')`;
    },
    arrived: (what: string, holds: () => boolean | Promise<boolean>, describe?: () => unknown) => until(what, holds, describe),
  };
}

export function hiddenIn(page: string): Record<string, string> {
  return Object.fromEntries([...page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]));
}

/** The link in a mail to a school. */
export function linkIn(mail: { text: string } | undefined): string {
  const [link] = /http:\S+\/school\/open\/\S+/.exec(mail?.text ?? '') ?? [];
  assert.ok(link, `no link in: ${mail?.text ?? 'no mail'}`);
  return link;
}

export async function managementToken(url: string, relyingParty: string, password: string): Promise<string> {
  const response = await fetch(`${url}/api/oauth/GetToken`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ relyingParty, password }),
  });
  return ((await response.json()) as { token: string }).token;
}

export function rosteringToken(url: string, rp: string, estab: string, secret: string): Promise<Response> {
  return fetch(`${url}${rootB}/auth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${rp}|${estab}:${secret}`).toString('base64')}` },
  });
}

export function postForm(url: string, cookie: string, fields: Record<string, string | string[]>): Promise<Response> {
  const body = new URLSearchParams(Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, one])));
  return fetch(url, { method: 'POST', headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' }, body, redirect: 'manual' });
}

/** A package as a school would upload it. */
export async function zip(given: CsvPackage): Promise<Buffer> {
  const file = new yazl.ZipFile();
  for (const { name, open } of given.files.values()) file.addBuffer(Buffer.from(await readAll(await open())), name);
  file.end();
  const pieces: Buffer[] = [];
  for await (const piece of file.outputStream) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

export type ShownMail = {
  id: string;
  state: string;
  to: string;
  subject: string;
  attempts: number;
  text: string | null;
  html: string | null;
  error: string | null;
};

/** What the command mails prints, newest first. */
export function mailCommandRunner({ db, seal, url }: Service): () => Promise<ShownMail[]> {
  return async () => (await mailCommands[0]?.run({ db, seal, config: readConfig({ PUBLIC_URL: url }) }, { options: {}, positionals: [] }))?.data as ShownMail[];
}
