// The test of an application's callback URL: a form like that of an authentication event, without a school and without a secret.
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { enqueue } from '../outbox/enqueue.ts';
import { openLane } from '../outbox/pause-lane.ts';
import { callbackLane, hostOf } from './move-callback.ts';
import { callKind, callsAtOnce, pausedWords } from './webhooks.ts';

/** The fields of every authentication event, in their order. */
export const formFields = ['schoolId', 'schoolEmail', 'schoolName', 'templateScopes', 'scopes', 'thirdParty', 'partnerId'] as const;
export type FormField = (typeof formFields)[number];

/** Outbox rows that belong to no school have this establishment. */
const noSchool = '';

/** Enqueues a test and returns its id. A disabled target is opened: the test shows whether it works again. */
export async function testCallback(db: Db, rp: string): Promise<string> {
  return db.begin(async (tx) => {
    const [lane] = await tx<{ paused: boolean }[]>`select paused_at is not null as paused from lane where key = ${callbackLane(rp)} for update`;
    if (lane?.paused) throw new SchoolbellError('conflict', `The target is ${pausedWords}. It can be tested once it is resumed.`);
    const [application] = await tx<{ url: string; template: string[] }[]>`
      select callback_url as url, required_scopes || optional_scopes as template from application where rp = ${rp}`;
    if (!application) throw new SchoolbellError('not_found', `There is no application ${rp}.`);
    const { url, template } = application;
    const known: Partial<Record<FormField, string>> = { templateScopes: template.join(','), partnerId: rp };
    const form = new URLSearchParams([...formFields.map((name): [string, string] => [name, known[name] ?? '']), ['status', 'Test']]);
    const id = await enqueue(tx, {
      estab: noSchool,
      rp,
      kind: callKind,
      lane: { key: callbackLane(rp), host: hostOf(url), width: callsAtOnce, lasting: true },
      payload: { event: 'test', method: 'POST', url, contentType: 'application/x-www-form-urlencoded' },
      body: Buffer.from(form.toString()),
    });
    await openLane(tx, callbackLane(rp));
    return id;
  });
}

/** Returns whether a delivery is a test of a callback URL, which needs no school that authorises the application. */
export const isCallbackTest = ({ estab, lane }: { estab: string; lane: string }) => estab === noSchool && lane.startsWith('callback ');
