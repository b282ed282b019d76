// Without SMTP_URL no page, notice, command or answer of the API claims that something was mailed: each says that e-mail is not set up, and
// where the link is. With SMTP_URL they say that it is mailed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useCommands } from './commands.ts';
import { enter } from './console.ts';
import { openForm } from './identity.ts';
import { useOnboarding, type Onboarding } from './onboarding.ts';
import { testSecretKey } from './service.ts';
import { smallPackage } from './small-school.ts';
import { until } from './until.ts';
import { forgottenKind } from '../src/identity/forgotten-password.ts';
import { findNeeds } from '../src/needs/needs.ts';
import { linkKind } from '../src/onboarding/ask-link.ts';
import { operatorLinkKind } from '../src/operators/forgotten-password.ts';
import { readConfig } from '../src/config.ts';

const without = await useOnboarding({ SMTP_URL: '', MAIL_FROM: '' });
const sending = await useOnboarding();

const claims = new RegExp(
  ['on its way', 'was mailed to', 'were sent', 'was sent to the', 'receipt was sent', 'link goes', 'we send', 'by mail\\b', 'get a mail', 'mail with a link',
    'look into your mail', 'folder for unwanted', 'receipts go to', 'receipt goes', 'gets a receipt', 'send a link', 'link sent', 'goes to the address',
    'mail a link', 'mail goes', 'link was sent', 'is mailed to', 'sent there again', 'sent again'].join('|'), 'i');
const notSetUp = /e-mail is not set up/i;
const words = (html: string) => html.replace(/<style[^]*?<\/style>/g, '').replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

type Page = { what: string; text: string; plain?: true };

/** Everything that speaks of mail. plain: a page that need not say anything about it. */
async function readPages({ service, db, url, addAsking, signIn, openRequest }: Onboarding): Promise<Page[]> {
  await db`truncate establishment, application, outbox, console_account, audit_event cascade`;
  const pages: Page[] = [];
  const page = (what: string, text: string, plain?: true) => pages.push({ what, text: words(text), ...(plain ? { plain } : {}) });
  const read = async (path: string) => (await fetch(`${url}${path}`, { headers: { accept: 'text/html' } })).text();
  const post = async (path: string, fields: Record<string, string>) => (await (await openForm(url, path)).post(fields)).text();
  await service.addSchool('s', smallPackage());
  const app = await addAsking('app');
  const invited = await app.invite('s');
  page('SchoolRegister', invited.Message);
  page('/school', await read('/school'));
  page('/school, asked', await (await fetch(`${url}/school`, { method: 'POST', body: new URLSearchParams({ estab: 's' }) })).text());
  page('/school/open', await read('/school/open/none'), true);
  page('/login/forgotten', await read('/login/forgotten'));
  page('/login/forgotten, asked', await post('/login/forgotten', { estab: 's', username: 'nobody' }));
  page('/register', await read('/register/none'), true);
  const visitor = await signIn('s');
  const request = `/school/requests/${await openRequest('s', 'app')}`;
  page('request', await visitor.text(request));
  await visitor.decide(request, { decision: 'approve' });
  page('approved', await visitor.text('/school/home?done=approved'));
  page('approved, source', await visitor.text('/school/source?done=approved'));
  page('home', await visitor.text('/school/home'), true);
  await visitor.post('/school/source/job', { action: 'make', replaces: '' });
  page('upload by job', await visitor.text('/school/source/job'), true);

  const admin = await enter(service, 'admin');
  const developer = await enter(service, 'developer', 'dev@app.example', ['app']);
  const get = async (path: string) => (await admin.get(path)).text;
  page('console forgotten', await read('/console/forgotten'));
  page('console forgotten, asked', await post('/console/forgotten', { email: 'nobody@trust.example' }));
  page('school', await get('/console/schools/s'));
  await db`update authorisation set state = 'Revoked' where estab = 's'`;
  page('grant', await get('/console/schools/s/applications/app'));
  page('grant, invited', await get('/console/schools/s?done=schools-estab-applications-rp-invite'));
  page('school, link', await get('/console/schools/s?done=schools-estab-send-link'));
  page('edit school', await get('/console/schools/s/edit'), true);
  page('application, schools', await get('/console/applications/app/schools'));
  page('developer, schools', (await developer.get('/console/applications/app/schools')).text);
  page('application, edit', await get('/console/applications/app/edit'), true);
  page('application, remove', await get('/console/applications/app/remove'));
  page('developers', await get('/console/applications/app/developers'));
  page('developers, for a developer', (await developer.get('/console/applications/app/developers')).text);
  page('operators', await get('/console/operators'));
  await admin.post('/console/operators/invite', { name: 'Eve', email: 'eve@trust.example', role: 'viewer' });
  page('operator', await get('/console/operators/eve%40trust.example'));
  page('operator, again', await get('/console/operators/eve%40trust.example?done=operators-name-invite'));

  await db`insert into login (estab, presence_id, username) values ('s', presence_id('s', 's1'), 's1')`;
  await post('/login/forgotten', { estab: 's', username: 's1' });
  await post('/console/forgotten', { email: 'eve@trust.example' });
  await service.work();
  const kinds = [linkKind, forgottenKind, operatorLinkKind];
  const listUndone = () => db`select from outbox where kind = any(${kinds}) and state <> 'done'`;
  await until('the links that were asked for', async () => (await listUndone()).length === 0);
  const works = await db<{ kind: string; id: string }[]>`
    select distinct on (kind) kind, id from outbox where kind = any(${kinds}) order by kind, created_at desc`;
  for (const { kind, id } of works) page(`work ${kind}`, await get(`/console/work/${id}`), true);
  await service.rest();
  return pages;
}

test('without SMTP_URL no page claims that something is mailed; each that speaks of it says that e-mail is not set up', async () => {
  const pages = await readPages(without);
  const faults = pages.flatMap(({ what, text, plain }) => [
    ...(claims.test(text) ? [`${what}: “${text.slice(Math.max(0, text.search(claims) - 40), text.search(claims) + 60)}”`] : []),
    ...(!plain && !notSetUp.test(text) ? [`${what}: does not say that e-mail is not set up`] : []),
  ]);
  assert.deepEqual(faults, []);
  assert.equal(pages.filter(({ what, text }) => what.startsWith('work ') && /a link was/i.test(text)).length, 3);
  for (const what of ['grant', 'school', 'application, schools', 'operators', 'operator'])
    assert.match(pages.find((one) => one.what === what)?.text ?? '', /under Mail/, `${what} says where the link is`);
});

test('with SMTP_URL no page says that e-mail is not set up', async () => {
  const pages = await readPages(sending);
  assert.deepEqual(pages.filter(({ text }) => notSetUp.test(text)).map(({ what }) => what), []);
  assert.match(pages.find(({ what }) => what === '/school, asked')?.text ?? '', /on its way/);
  assert.match(pages.find(({ what }) => what === 'approved')?.text ?? '', /receipt was sent/);
});

for (const [onboarding, sends] of [[without, false], [sending, true]] as const)
  test(`commands say ${sends ? 'that a link is mailed' : 'that e-mail is not set up, and where the link is'}`, async () => {
    const { service, url, addAsking, db } = onboarding;
    await db`truncate establishment, application, outbox cascade`;
    await service.addSchool('s');
    await addAsking('app');
    const mailing: Record<string, string> = sends ? { SMTP_URL: onboarding.mail.url, MAIL_FROM: 'Schoolbell <schoolbell@trust.example>' } : {};
    const settings = { DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir, PUBLIC_URL: url, ...mailing };
    const { schoolbell } = useCommands(settings);
    for (const line of ['invite --rp app --estab s', 'school link --estab s', 'operator add --name Ann --email ann@trust.example']) {
      const { out, err, code } = await schoolbell(line);
      assert.equal(code, 0, `${line}: ${err}`);
      assert.equal(notSetUp.test(out), !sends, `${line}: ${out}`);
      if (!sends) assert.match(out, /\/(?:school\/open|console\/operators\/invited)\/|\bmails\b/, `${line} says where the link is`);
    }
  });

test('missing e-mail is among the open tasks, in the console and in the command, and goes when it is set up', async () => {
  const config = { PUBLIC_URL: without.url, DATABASE_URL: without.service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: without.service.dataDir };
  const mailing = { SMTP_URL: sending.mail.url, MAIL_FROM: 'schoolbell@trust.example' };
  const needs = async (more: object) => (await findNeeds({ db: without.db, config: readConfig({ ...config, ...more }) }))
    .flatMap(({ needs: found }) => found).filter(({ id }) => id === 'mail').map(({ what }) => what);
  assert.equal((await needs({})).length, 1);
  assert.match((await needs({}))[0] ?? '', notSetUp);
  assert.deepEqual(await needs(mailing), []);
  await without.service.addSchool('task');
  const admin = await enter(without.service, 'admin');
  assert.match((await admin.get('/console')).text, /id="needs"[^]*e-mail is not set up[^]*href="\/console\/mail"/);
  const { schoolbell } = useCommands(config);
  assert.match((await schoolbell('status')).out, notSetUp);
});
