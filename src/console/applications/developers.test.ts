// Tests who may come to an application's pages: invited by the operator or by a colleague, to one application or several, let go while
// they are signed in; and that operators and developers are never taken for one another.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { lockWaits } from '../../../test/lock-waits.ts';
import { until } from '../../../test/until.ts';
import { addOperator, createVisitor, goodPassword, signIn, type Visitor } from '../../../test/visitor.ts';
import { inboxUrl } from '../../notifications/inbox/address.ts';
import { addInbox } from '../../notifications/inbox/inboxes.ts';
import { forgetLeftDevelopers, inviteDeveloper } from '../../operators/developers.ts';

const { service } = await useConsole();
const { db, url } = service;
await service.addSchool('3805001');
for (const rp of ['one', 'two']) await service.addClient(rp, ['3805001']);
const boss = 'boss@trust.example';
const ofOne = '/console/applications/one';
let admin: Visitor;

beforeEach(async () => {
  for (const table of ['console_account', 'console_rule', 'wrong_try', 'audit_event']) await db`delete from ${db(table)}`;
  await db`delete from outbox where estab = ''`;
  await addOperator(db, boss);
  admin = await signIn(url, boss);
  await admin.open('/console/account');
});

const mails = async () => (await db<{ to: string; subject: string; text: string }[]>`
  select payload ->> 'to' as to, payload ->> 'subject' as subject, convert_from(body, 'utf8')::jsonb ->> 'text' as text
  from outbox where estab = '' and kind = 'mail' order by seq`);
const linkIn = (text = '') => /https?:\/\/[^/]+(\/console\/operators\/invited\/[\w-]{43})\n/.exec(text)?.[1] ?? '';
const developers = async () => (await db<{ line: string }[]>`
  select concat_ws(' ', a.sign_in_name, d.rp) as line from console_developer d join console_account a on a.id = d.account order by 1`).map(({ line }) => line);
const accounts = async () => (await db<{ name: string }[]>`select sign_in_name as name from console_account order by 1`).map(({ name }) => name);
const invite = (by: Visitor, email: string, rp = 'one', name = 'Dev') => by.send(`/console/applications/${rp}/developers/invite`, { name, email });
const remove = (by: Visitor, address: string, rp = 'one') => by.send(`/console/applications/${rp}/developers/remove`, { address });

async function come(email: string, rp = 'one'): Promise<Visitor> {
  assert.equal((await invite(admin, email, rp)).status, 303);
  const link = linkIn((await mails()).at(-1)?.text);
  const visitor = createVisitor(url);
  await visitor.open(link);
  assert.equal((await visitor.send(link, { password: goodPassword, repeated: goodPassword })).location, '/console');
  await visitor.open('/console/account');
  return visitor;
}

test('whoever is invited reads which application it is, chooses a password, and begins at its page', async () => {
  assert.equal((await invite(admin, 'Dev@App.example', 'one', 'Dev <One>')).status, 303);
  const [mail] = await mails();
  assert.equal(mail?.to, 'Dev@App.example');
  assert.match(mail.text, /Dear Dev <One>,[^]*by Operator boss@trust\.example, as a developer of Application one: [^]*once, within 7 days/);
  assert.doesNotMatch(mail.text, /everything/);
  assert.match((await admin.open(`${ofOne}/developers`)).text, /Dev &#60;One&#62;[^]*dev@app\.example[^]*Invited/);
  const visitor = createVisitor(url);
  await visitor.open(linkIn(mail.text));
  await visitor.send(linkIn(mail.text), { password: goodPassword, repeated: goodPassword });
  assert.equal((await visitor.open('/console')).location, ofOne);
  const { status, text } = await visitor.open(ofOne);
  assert.equal(status, 200);
  assert.match(text, /class="badge off">Developer</);
  assert.match(text, /<nav class="around"[^]*<a href="\/docs">Reference<\/a>[^]*<\/nav>/);
  assert.match((await visitor.open('/console/account')).text, /Developer: sees and looks after/);
  assert.equal((await visitor.send('/console/account/rename', { name: 'Dev Two' })).status, 303);
  assert.match((await admin.open(`${ofOne}/developers`)).text, /Dev Two[^]*dev@app\.example[^]*Active/);
});

test('one who has not come yet is sent another link, and links from before open nothing', async () => {
  for (const email of ['dev@app.example', 'DEV@app.example']) assert.equal((await invite(admin, email)).status, 303);
  const [first, second] = await mails();
  assert.equal((await createVisitor(url).open(linkIn(first?.text))).status, 404);
  assert.equal((await createVisitor(url).open(linkIn(second?.text))).status, 200);
  assert.deepEqual(await developers(), ['dev@app.example one']);
});

test('who has an account already is told of one more application, and sees a list of theirs', async () => {
  const dev = await come('dev@app.example');
  assert.equal((await invite(admin, 'dev@app.example', 'two', 'Another name')).status, 303);
  const mail = (await mails()).at(-1);
  assert.match(`${mail?.subject} ${mail?.text}`, /You are a developer of Application two[^]*your password is the same[^]*\/console\/applications\/two/);
  assert.equal(linkIn(mail?.text), '');
  const { text } = await dev.open('/console');
  assert.match(text, /Your applications[^]*Application one[^]*Application two/);
  for (const rp of ['one', 'two']) assert.equal((await dev.open(`/console/applications/${rp}`)).status, 200);
  assert.match((await admin.open('/console/applications/two/developers')).text, /<bdi>Dev<\/bdi>/, 'their name is their own');
  const again = await invite(admin, 'dev@app.example', 'two');
  assert.equal(again.status, 409);
  assert.match(again.text, /is a developer of this application already/);
});

test('an operator is not made a developer, nor a developer an operator', async () => {
  const refused = await invite(admin, boss);
  assert.equal(refused.status, 409);
  assert.match(refused.text, /is an operator, who sees every application already/);
  await come('dev@app.example');
  const asOperator = await admin.send('/console/operators/invite', { name: 'Dev', email: 'Dev@app.example', role: 'admin' });
  assert.equal(asOperator.status, 409);
  assert.match(asOperator.text, /is a developer of an application, and no operator/);
  const at = '/console/operators/dev%40app.example';
  assert.equal((await admin.open(at)).status, 409);
  for (const [verb, fields] of [['role', { role: 'admin' }], ['remove', {}], ['invite', {}], ['reset-second-factor', {}]] as const)
    assert.equal((await admin.send(`${at}/${verb}`, fields)).status, 409, verb);
  assert.doesNotMatch((await admin.open('/console/operators')).text, /dev@app\.example/);
  const [kept] = await db`select role from console_account where sign_in_name = 'dev@app.example'`;
  assert.equal(kept?.role, 'developer');
});

test('colleagues invite and remove one another, and nobody themselves', async () => {
  const dev = await come('dev@app.example');
  assert.equal((await invite(dev, 'eve@app.example')).status, 303);
  assert.match((await mails()).at(-1)?.text ?? '', /by Dev, as a developer of Application one/);
  const self = await remove(dev, 'Dev@app.example');
  assert.equal(self.status, 409);
  assert.match(self.text, /You cannot remove yourself/);
  assert.equal((await remove(dev, 'eve@app.example')).status, 303);
  assert.deepEqual([await developers(), await accounts()], [['dev@app.example one'], [boss, 'dev@app.example']]);
  for (const [name, email] of [['', 'x@x.example'], ['X', 'no address'], ['X', '']] as const)
    assert.equal((await invite(dev, email, 'one', name)).status, 400, email);
});

test('addresses that only look alike are not one: a link goes to the address of the account, and nobody signs in as another', async () => {
  for (const by of ['one', 'two']) assert.equal((await invite(admin, by === 'one' ? 'Kate@app.example' : 'kate@app.example', by)).status, 303);
  assert.deepEqual((await mails()).map(({ to }) => to), ['Kate@app.example', 'Kate@app.example']);
  assert.match((await mails()).at(-1)?.text ?? '', /a developer of Application one and Application two: you see there what schools and deliveries they have/);
  const kelvin = '\u212aate@app.example';
  assert.equal(kelvin.toLowerCase(), 'kate@app.example');
  for (const answer of [await invite(admin, kelvin), await admin.send('/console/operators/invite', { name: 'K', email: kelvin, role: 'viewer' })]) {
    assert.equal(answer.status, 400);
    assert.match(answer.text, /write letters other than A to Z small/);
  }
  assert.equal((await invite(admin, 'jürgen@app.example')).status, 303);
});

test('an application has a hundred at most, however many are invited at once; who is one of them is sent another link', async () => {
  await db`
    with made as (insert into console_account (sign_in_name, name, email, role, created_by)
      select at || '@full.example', at, at || '@full.example', 'developer', 'test' from generate_series(1, 98) at returning id)
    insert into console_developer (account, rp, added_by) select id, 'one', 'test' from made`;
  const parts = { publicUrl: url, adminKept: false };
  const asked = await Promise.allSettled(Array.from({ length: 6 }, (_, at) =>
    inviteDeveloper(db, parts, { rp: 'one', name: 'Dev', email: `more${at}@app.example`, by: 'test' })));
  assert.equal(asked.filter(({ status }) => status === 'fulfilled').length, 2);
  assert.equal((await developers()).length, 100);
  const full = await invite(admin, 'one-too-many@app.example');
  assert.deepEqual([full.status, /An application has 100 developers at most/.test(full.text)], [409, true]);
  assert.equal((await invite(admin, '7@full.example')).status, 303);
});

test('a developer has no more than twenty strangers written to in ten minutes', async () => {
  const dev = await come('dev@app.example');
  const answers: number[] = [];
  for (let at = 0; at < 21; at += 1) answers.push((await invite(dev, `dev${at}@app.example`)).status);
  assert.deepEqual([answers.filter((status) => status === 303).length, answers.at(-1)], [20, 429]);
  assert.equal((await invite(admin, 'by-the-operator@app.example')).status, 303);
});

test('what is refused counts too: who is an operator cannot be found out without an end', async () => {
  const dev = await come('dev@app.example');
  const answers: number[] = [];
  for (let at = 0; at < 21; at += 1) answers.push((await invite(dev, boss)).status);
  assert.deepEqual([answers.filter((status) => status === 409).length, answers.at(-1)], [20, 429]);
});

test('whoever is removed is signed out at once, of one application or of the last', async () => {
  const dev = await come('dev@app.example');
  await invite(admin, 'dev@app.example', 'two');
  assert.equal((await remove(admin, 'dev@app.example', 'two')).status, 303);
  assert.match((await dev.open(ofOne)).location ?? '', /sign-in/);
  const again = await signIn(url, 'dev@app.example');
  assert.deepEqual([(await again.open(ofOne)).status, (await again.open('/console/applications/two')).status], [200, 404]);
  assert.equal((await remove(admin, 'dev@app.example')).status, 303);
  assert.equal((await again.send(`${ofOne}/developers/invite`, { name: 'X', email: 'x@x.example' })).location, '/console/sign-in');
  assert.deepEqual([await developers(), await accounts()], [[], [boss]]);
  assert.equal((await (await signIn(url, 'dev@app.example')).open('/console')).location?.startsWith('/console/sign-in'), true);
});

test('of two who remove each other at once one stays; one who is being removed invites nobody', async () => {
  for (let time = 0; time < 3; time += 1) {
    const [dev, eve] = [await come('dev@app.example'), await come('eve@app.example')];
    const both = await Promise.all([remove(dev, 'eve@app.example'), remove(eve, 'dev@app.example')]);
    assert.equal((await developers()).length, 1, JSON.stringify(both.map(({ status, location }) => [status, location])));
    await db`delete from console_account where role = 'developer'`;
  }
  const dev = await come('dev@app.example');
  let sent: ReturnType<typeof invite> | undefined;
  await db.begin(async (tx) => {
    await tx`select from console_account where sign_in_name = 'dev@app.example' for update`;
    sent = invite(dev, 'eve@app.example');
    await until('the invitation waits', async () =>
      (await lockWaits(db)).length > 0);
    await tx`delete from console_account where sign_in_name = 'dev@app.example'`;
  });
  assert.equal((await sent)?.status, 403);
  assert.deepEqual(await accounts(), [boss]);
});

test('a second factor that is required of all is required of developers', async () => {
  const dev = await come('dev@app.example');
  await db`insert into console_rule (name, required) values ('second factor', true)`;
  assert.equal((await dev.open(ofOne)).location, '/console/second-factor');
  assert.match((await dev.open('/console/second-factor')).text, /requires a second factor of everybody/);
});

test('a forgotten password is chosen anew, and who never chose one is invited again to their application', async () => {
  await service.work();
  await come('dev@app.example');
  await invite(admin, 'eve@app.example');
  const before = (await mails()).length;
  for (const email of ['dev@app.example', 'eve@app.example']) {
    const visitor = createVisitor(url);
    await visitor.open('/console/forgotten');
    await visitor.send('/console/forgotten', { email });
  }
  await until('both are written to', async () => (await mails()).length === before + 2);
  const texts = (await mails()).slice(before).map(({ to, text }) => [to, /forgotten the password/.test(text), /as a developer of Application one/.test(text)]);
  assert.deepEqual(texts.toSorted(), [['dev@app.example', true, false], ['eve@app.example', false, true]]);
});

test('an application that is removed takes the accounts of those who had no other', async () => {
  await service.addClient('goes', []);
  const [left, stays] = [await come('left@app.example', 'goes'), await come('stays@app.example', 'goes')];
  await invite(admin, 'stays@app.example');
  assert.match((await admin.open('/console/applications/goes/remove')).text, /developers<\/dt>\s*<dd>2</);
  await admin.open('/console/applications/goes/remove');
  assert.equal((await admin.send('/console/applications/goes/remove/confirm', { typed: 'goes' })).status, 303);
  const page = await left.open('/console');
  assert.equal(page.status, 200);
  assert.match(page.text, /You are a developer of no application any more/);
  assert.equal((await left.open('/console/applications/goes')).status, 404);
  assert.equal((await stays.open('/console')).location, ofOne);
  await forgetLeftDevelopers(db);
  assert.deepEqual(await accounts(), [boss, 'stays@app.example']);
  assert.match((await left.open('/console')).location ?? '', /sign-in/);
});

test('a developer changes what is said about the application and where it is called, but neither its name nor what it asks for', async () => {
  const dev = await come('dev@app.example');
  const page = await dev.open(`${ofOne}/edit`);
  assert.doesNotMatch(page.text, /name="name"|scope-|\/remove"/);
  const given = {
    name: 'Another', 'scope-School': 'none', 'scope-Student': 'required', website: 'https://app.example/', 'privacy-notice': '', contact: 'help@app.example',
    'callback-url': 'https://93.184.215.14/events', 'redirect-uri': 'https://app.example/back', 'state-events': 'yes',
  };
  const read = async () => (await db`
    select name, website, contact, callback_url, redirect_uris, state_events, required_scopes from application where rp = 'one'`)[0];
  const before = await read();
  for (const callback of ['http://10.0.0.1/', 'http://169.254.169.254/', 'https://[::1]/', 'no url']) {
    const refused = await dev.send(`${ofOne}/edit/save`, { ...given, 'callback-url': callback });
    assert.equal(refused.status, 400, callback);
    assert.match(refused.text, /Callback URL/);
  }
  assert.deepEqual(await read(), before);
  const saved = await dev.send(`${ofOne}/edit/save`, given);
  assert.equal(saved.status, 303, saved.text);
  assert.deepEqual({ ...(await read()) }, {
    ...before, website: 'https://app.example/', contact: 'help@app.example', callback_url: 'https://93.184.215.14/events',
    redirect_uris: ['https://app.example/back'], state_events: true,
  });
  const [line] = await db<{ detail: object; rp: string }[]>`select detail, rp from audit_event where action = 'application edit' and outcome = 'done'`;
  assert.deepEqual([line?.rp, Object.keys(line?.detail ?? {}).includes('name')], ['one', false]);
});

test('an inbox of the application may be its callback URL where nothing of the own network may be called, and another’s may not', async () => {
  const dev = await come('dev@app.example');
  const make = (rp: string) => addInbox(db, service.seal, { rp, name: 'Inbox', answer: '200' });
  const [own, others] = [await make('one'), await make('two')];
  const save = (callback: string) => dev.send(`${ofOne}/edit/save`, { 'callback-url': callback });
  for (const key of [others.key, 'x'.repeat(43)]) {
    const refused = await save(inboxUrl(url, key));
    assert.deepEqual([refused.status, /one has no such inbox/.test(refused.text)], [400, true]);
  }
  assert.equal((await save(`${url}/elsewhere`)).status, 400);
  const saved = await save(inboxUrl(url, own.key));
  assert.equal(saved.status, 303, saved.text);
  const [kept] = await db`select callback_url as url from application where rp = 'one'`;
  assert.equal(kept?.url, inboxUrl(url, own.key));
});

test('a developer asks a school by the rules of the API, and reads what the API would tell', async () => {
  const dev = await come('dev@app.example');
  await service.addSchool('3805002');
  await db`update establishment set name = 'Its real name', email = 'real@school.example' where estab = '3805002'`;
  const asked = { estab: '3805002', name: 'As we call it', email: 'typed@school.example', reason: '' };
  const ask = (fields: object) => dev.send(`${ofOne}/schools/invite`, { ...asked, ...fields });
  for (const [fields, words] of [[{ name: '' }, /Name of the school is missing/], [{ email: '' }, /Address of record is missing/],
    [{ reason: 'x'.repeat(501) }, /at most 500 characters/]] as const) {
    const refused = await ask(fields);
    assert.equal(refused.status, 400);
    assert.match(refused.text, words);
  }
  assert.equal((await ask({})).status, 303);
  const twice = await ask({});
  assert.equal(twice.status, 409);
  assert.match(twice.text, /invited within the last hour/);
  const [kept] = await db`select invited_by, school_name from invitation where estab = '3805002'`;
  assert.deepEqual({ ...kept }, { invited_by: 'application', school_name: 'As we call it' });
  for (const path of [`${ofOne}/schools`, ofOne, `${ofOne}/schools?q=call`, `${ofOne}/schools?q=real`]) {
    const { text } = await dev.open(path);
    assert.doesNotMatch(text, /Its real name|real@school\.example/, path);
    assert.equal(/As we call it/.test(text), !path.endsWith('real'), path);
  }
});
