// In charge of what to ask for an example: a row for each operation whose parameters' own examples are not enough, because
// something has to be there first or has a name that only the database knows. It makes that and says what to ask.
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { addApplication } from '../src/access/applications.ts';
import { authorise as authoriseAt } from '../src/access/authorisations.ts';
import { addEstablishment } from '../src/access/establishments.ts';
import { createSeal } from '../src/access/seal.ts';
import { makeUploadToken } from '../src/access/upload-tokens.ts';
import { setConnector } from '../src/collection/connector-settings.ts';
import { collectDatabase } from '../src/collection/collect.ts';
import { registerDays } from '../src/collection/connectors/demo/demo-attendance.ts';
import { createOutbound } from '../src/http/outbound.ts';
import { controls } from '../src/sandbox/controls.ts';
import { pascal } from '../src/sandbox/field.ts';
import type { OperationObject } from '../src/reference/document.ts';
import { askApp } from './ask-app.ts';
import { authorise, type Ask, type Asking } from './ask-described.ts';
import { basic, makeLogin, signIn } from './example-sign-in.ts';
import { zip } from './onboarding.ts';
import { smallPackage } from './small-school.ts';

type MakeAsk = (asking: Asking) => Promise<Ask>;

/** What leads to a status; of other answers than the first good one the table below has a row. */
export function findAsk({ operationId = '', parameters = [] }: OperationObject, status: string): MakeAsk | undefined {
  const callback = parameters.find(({ name }) => name === 'callbackUrl')?.example;
  const later: MakeAsk = async () => ({ parameters: { callbackUrl: String(callback) } });
  return furtherAsks[`${operationId} ${status}`] ?? (status === '202' && callback !== undefined ? later : asks[operationId]);
}

/** By the operation's id. */
export const asks: Readonly<Record<string, MakeAsk>> = {
  getToken: async ({ demo }) => ({ body: { estab: demo.estab, relyingParty: demo.rp, password: demo.schoolSecret } }),
  ...Object.fromEntries(
    ['AttendanceForDate', 'AttendanceForDateById', 'AttendanceForDateRange'].flatMap((name) => [[`get${name}`, withMarks], [`getOwn${name}`, withMarks]]),
  ),
  writeAttendance: judgedMarks,
  writeAttendanceByEstab: judgedMarks,
  getWriteback: async (asking) => {
    const payload = { Marks: [{ ...(await markOf(asking)), Mark: 'H' }], callback: { Url: 'https://app.example/written' } };
    const { TrackingId } = await post<{ TrackingId: string }>(asking, `/api/v1/School/${asking.demo.estab}/Attendance`, payload);
    return { parameters: { trackingId: TrackingId } };
  },
  registerWebhook: async (asking) => {
    await register(asking);
    return {};
  },
  listWebhooks: async (asking) => {
    await register(asking);
    return {};
  },
  getWebhook: ofWebhook,
  testWebhook: ofWebhook,
  removeWebhook: ofWebhook,
  listDeliveries: async (asking) => {
    await deliver(asking);
    return {};
  },
  getDelivery: ofDelivery,
  replayDelivery: async (asking) => {
    const ask = await ofDelivery(asking);
    await asking.db`update outbox set state = 'failed', settled_at = now() where id = ${ask.parameters?.id ?? ''}`;
    return ask;
  },
  withdrawInvitation: async (asking) => {
    const school = { Estab: '9990003', SchoolName: 'Example Grammar School', SchoolContactEmail: 'office@grammar.example' };
    await post(asking, '/api/Manage/SchoolRegister', { Schools: [school] }, 'managementToken');
    return { parameters: { estab: school.Estab } };
  },
  uploadRoster: async (asking) => ({ ...(await uploader(asking)), body: await zip(smallPackage()) }),
  getUpload: async (asking) => {
    const { authorization = '', parameters } = await uploader(asking);
    const url = `/api/v1/School/${parameters?.estab}/Roster`;
    const taken = await askApp(asking.app, { method: 'PUT', url, headers: { authorization }, payload: await zip(smallPackage()) });
    const { ImportId } = taken.json<{ ImportId: string }>();
    await collect(asking, String(parameters?.estab), 'SchoolData', ImportId);
    return { authorization, parameters: { ...parameters, importId: ImportId } };
  },
  resetPassword: async (asking) => {
    const { userName, password } = await makeLogin(asking);
    return { body: { username: userName, password }, contentType: 'application/json' };
  },
  // Somebody else than who has registered for the other examples.
  createLogin: async ({ db, demo }) => {
    const [presence] = await db<{ id: string }[]>`select presence_id(${demo.estab}, 'u-e-k4b201x5he') as id`;
    return { body: { OrgId: demo.estab, PresenceId: presence?.id }, contentType: 'application/json' };
  },
  createUser: async (asking) => ({
    body: { orgId: asking.demo.estab, manualUser: [{ firstName: 'Ada', lastName: 'Example', email: `ada.${randomUUID().slice(0, 4)}@school.example` }] },
  }),
  ...Object.fromEntries(
    ['getSandbox', ...controls.map(({ name }) => `rehearse${pascal(name)}`)].map((operation) => [operation, rehearsing] as const),
  ),
  generateQRCode: async () => ({ headers: { accept: 'application/json' } }),
  generateQRCodeFromBody: async () => ({
    headers: { accept: 'application/json' },
    body: { text: 'https://school.example/join?id=7' },
    contentType: 'application/json',
  }),
  getSignInTokens: async (asking) => ({ body: await signIn(asking), authorization: basic(asking.demo.clientId, asking.demo.clientSecret) }),
  getSignedInUser: async (asking) => {
    const headers = { authorization: basic(asking.demo.clientId, asking.demo.clientSecret), 'content-type': 'application/x-www-form-urlencoded' };
    const payload = String(new URLSearchParams(await signIn(asking)));
    const { access_token: token } = (await askApp(asking.app, { method: 'POST', url: '/oidc/token', headers, payload })).json<{ access_token: string }>();
    return { authorization: `Bearer ${token}` };
  },
};

const form = { grant_type: 'authorization_code', code: 'none', redirect_uri: 'https://app.example/signed-in', code_verifier: 'x'.repeat(43) };
const stranger: MakeAsk = async () => ({ authorization: basic('nobody', 'nothing'), body: form });
/** The application signs people in, as it has once somebody did. */
async function asClient(asking: Asking, body: object): Promise<Ask> {
  await signIn(asking);
  return { authorization: basic(asking.demo.clientId, asking.demo.clientSecret), body };
}

/** By the operation's id and the status. */
export const furtherAsks: Readonly<Record<string, MakeAsk>> = {
  'registerWebhook 201': async (asking) => {
    await forget(asking);
    return {};
  },
  'listWebhooks 201': async (asking) => {
    await forget(asking);
    return { parameters: { url: hook.url, DatabaseName: hook.DatabaseName } };
  },
  'writeAttendance 202': writtenLater,
  'writeAttendanceByEstab 202': writtenLater,
  'writeAttendance 400': faultyMarks,
  'writeAttendanceByEstab 400': faultyMarks,
  'getSignInTokens 400': (asking) => asClient(asking, form),
  'getSignInTokens 401': stranger,
  'getSignedInUser 400': async () => ({ authorization: 'Bearer one two' }),
  'getSignedInUser 401': async () => ({ authorization: 'Bearer none' }),
  'revokeSignInToken 400': (asking) => asClient(asking, { token: '' }),
  'revokeSignInToken 401': stranger,
};

async function post<T>(asking: Asking, url: string, payload: object, scheme = 'schoolToken'): Promise<T> {
  const response = await askApp(asking.app, { method: 'POST', url, headers: { authorization: await authorise(asking, scheme) }, payload });
  return response.json<T>();
}

/** As a worker would. The demo's settings hold nothing that is sealed. */
async function collect({ db }: Asking, estab: string, database: 'SchoolData' | 'Attendance', upload?: string): Promise<void> {
  const outbound = createOutbound([]);
  try {
    const parts = { db, mis: db, seal: createSeal(['a key for nothing that is ever sealed']), outbound, dataDir: tmpdir() };
    await collectDatabase(parts, estab, database, { force: false, full: true, shrinkLimitPercent: 20, upload });
  } finally {
    await outbound.close();
  }
}

/** A school and an application of its own, so that no other example feels it. */
async function rehearsing({ app, db }: Asking): Promise<Ask> {
  const [rp, estab, seal] = [`rehearsal-${randomUUID().slice(0, 4)}.demo`, '9990009', createSeal(['a key for nothing that is opened again'])];
  const [known] = await db`select from establishment where estab = ${estab}`;
  if (!known) await addEstablishment(db, { estab, name: 'Rehearsal School', email: 'office@rehearsal.example' });
  await db.begin((tx) => setConnector(tx, seal, estab, { kind: 'demo' }));
  const given = { rp, name: 'Rehearsal', callbackUrl: 'http://127.0.0.1:8081/events', scopes: 'School', redirectUris: [], demo: true };
  const { managementSecret } = await addApplication(db, seal, given);
  await authoriseAt(db, { rp, estab });
  const payload = { relyingParty: rp, password: managementSecret };
  const granted = await askApp(app, { method: 'POST', url: '/api/oauth/GetToken', payload });
  return { authorization: `Idaas ${granted.json<{ token: string }>().token}` };
}

async function withMarks(asking: Asking): Promise<Ask> {
  const { db, demo } = asking;
  const [known] = await db`select from attendance_mark where estab = ${demo.estab} limit 1`;
  if (!known) await collect(asking, demo.estab, 'Attendance');
  return {};
}

/** A mark for the last school day, of a student who is on roll. */
async function markOf({ db, demo }: Asking): Promise<Record<string, string>> {
  const [student] = await db<{ id: string }[]>`
    select sourced_id as id from roster_user where estab = ${demo.estab} and kind = 'student' and status = 'active' order by sourced_id limit 1`;
  return { StudentId: student?.id ?? '', MarkType: 'S', Date: registerDays(new Date()).at(-1) ?? '', Session: 'AM', Mark: 'L' };
}

async function judgedMarks(asking: Asking): Promise<Ask> {
  return { parameters: { validateOnly: 'true' }, body: { Marks: [await markOf(asking)] } };
}

/** Two of them, so that both are told at once. */
async function faultyMarks(asking: Asking): Promise<Ask> {
  const mark = await markOf(asking);
  return { body: { Marks: [{ ...mark, Mark: '/', Session: 'PM' }, { ...mark, StudentId: 'nobody' }] } };
}

async function writtenLater(asking: Asking): Promise<Ask> {
  return { body: { Marks: [{ ...(await markOf(asking)), Session: 'PM', Mark: 'M' }], callback: { Url: 'https://app.example/written' } } };
}

const hook = { url: 'https://app.example/changed?school=9990001', DatabaseName: 'SchoolData' };

async function forget(asking: Asking): Promise<void> {
  const url = `/api/v1/Webhook/${await register(asking)}`;
  await askApp(asking.app, { method: 'DELETE', url, headers: { authorization: await authorise(asking, 'schoolToken') } });
}

async function register(asking: Asking): Promise<string> {
  const { Webhook } = await post<{ Webhook: { Id: string }[] }>(asking, '/api/v1/Webhook', hook);
  return Webhook[0]?.Id ?? '';
}

async function ofWebhook(asking: Asking): Promise<Ask> {
  return { parameters: { id: await register(asking) } };
}

async function deliver(asking: Asking): Promise<string> {
  const { DeliveryId } = await post<{ DeliveryId: string }>(asking, `/api/v1/Webhook/${await register(asking)}/Test`, {});
  return DeliveryId;
}

async function ofDelivery(asking: Asking): Promise<Ask> {
  return { parameters: { id: await deliver(asking) } };
}

/** The demo's own data comes by itself; another school sends its packages. */
async function uploader({ db }: Asking): Promise<Ask> {
  const estab = '9990004';
  const [known] = await db`select from establishment where estab = ${estab}`;
  if (!known) await addEstablishment(db, { estab, name: 'Example High School', email: 'office@high.example' });
  return { parameters: { estab }, authorization: `Bearer ${await makeUploadToken(db, estab, 'operator')}` };
}
