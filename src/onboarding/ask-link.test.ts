// How a school gets a link when it has none, and what hostile names can do in pages and mails: nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earlier } from '../../test/earlier.ts';
import { linkIn, postForm, useOnboarding } from '../../test/onboarding.ts';
import { useService } from '../../test/service.ts';
import { smallPackage, user } from '../../test/small-school.ts';
import { forgetLinks, makeSignInLink } from './links.ts';

const onboarding = await useOnboarding();
const { db, service, url, mail, run, arrived, mailsOf, mailsTo } = onboarding;
await service.work();
// Without a worker: what is left behind is what the request itself has done.
const bare = await useService({ TRUST_PROXY: '127.0.0.1/32' });

const ask = (estab: string) => postForm(`${url}/school`, '', { estab });
/** Until the worker has looked at every question. */
const waiting = () => db`select from outbox where kind = 'sign-in-link' and state <> 'done'`;
const answered = () => arrived('an answer to every question', async () => (await waiting()).length === 0);

test('known or not, confirmed or not, whoever asks for a link gets the same answer', async () => {
  await service.addSchool('known');
  await (await onboarding.addAsking('proposer')).invite('proposed', { SchoolContactEmail: 'spy@elsewhere.example' });
  const answers = [];
  for (const estab of ['known', 'unknown', 'proposed', '', "' or 1=1 --", '<script>', 'x'.repeat(2000)]) {
    const response = await ask(estab);
    answers.push([response.status, response.headers.get('set-cookie'), await response.text()]);
  }
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
  assert.match(String(answers[0]?.[2]), /If we know this school, a link is on its way/);
  await arrived('the link', () => mailsTo('office@known.example').length === 1);
  await answered();
  assert.deepEqual([(await mailsOf('known')).length, (await mailsOf('proposed')).length, mailsTo('spy@elsewhere.example').length], [1, 0, 0]);
});

test('the link goes to the address of record, opens the home page more than once, and for an hour', async () => {
  await service.addSchool('office');
  await ask('office');
  await arrived('the link', () => mailsTo('office@office.example').length === 1);
  const link = linkIn(mailsTo('office@office.example')[0]);
  const first = await fetch(link, { redirect: 'manual' });
  assert.deepEqual([first.status, first.headers.get('location')], [303, '/school/home']);
  assert.match(await (await onboarding.openLink(link)).text('/school/home'), /<strong id="school-name">School office</);
  await db`update school_link set expires_at = ${earlier(db, 'expires_at', '1 hour')} where estab = 'office'`;
  assert.equal((await fetch(link, { redirect: 'manual' })).status, 404);
  await forgetLinks(db, 'office');
  assert.equal((await db`select from school_link where estab = 'office'`).length, 0);
});

test('at most five links an hour, also when asked for at once', async () => {
  await service.addSchool('often');
  await db`delete from wrong_try`;
  await Promise.all(Array.from({ length: 8 }, () => ask('often')));
  await answered();
  assert.equal((await mailsOf('often')).length, 5);
  await db`update school_link set created_at = ${earlier(db, 'created_at', '61 minutes')} where estab = 'often'`;
  await ask('often');
  await answered();
  assert.equal((await mailsOf('often')).length, 6);
});

test('known or not, the request does the same: it writes the question down, and looks nowhere', async () => {
  await bare.addSchool('there');
  const left = async (estab: string) => {
    await postForm(`${bare.url}/school`, '', { estab });
    return bare.db`select kind, lane, state, payload, body, rp from outbox where estab = ${estab} order by seq`;
  };
  const [known, unknown] = [await left('there'), await left('nowhere')];
  assert.deepEqual([...known], [{ kind: 'sign-in-link', lane: 'sign-in-link', state: 'waiting', payload: {}, body: null, rp: null }]);
  assert.deepEqual([...unknown], [...known]);
  assert.equal((await bare.db`select from school_link`).length, 0);
  // A school that is being changed holds nobody up who asks for it.
  await bare.db.begin(async (tx) => {
    await tx`select from establishment where estab = 'there' for update`;
    assert.equal((await postForm(`${bare.url}/school`, '', { estab: 'there' })).status, 200);
  });
});

test('twenty questions in ten minutes from an address, then a page that says wait; nothing more is written down', async () => {
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  const askFrom = (address: string) => fetch(`${bare.url}/school`, { method: 'POST', headers: { ...type, 'x-forwarded-for': address }, body: 'estab=fills' });
  const answers = await Promise.all(Array.from({ length: 30 }, () => askFrom('198.51.100.7')));
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [...Array<number>(20).fill(200), ...Array<number>(10).fill(429)]);
  assert.equal((await bare.db`select from outbox where estab = 'fills'`).length, 20);
  const refused = await askFrom('198.51.100.7');
  assert.ok(Number(refused.headers.get('retry-after')) > 60);
  assert.match(await refused.text(), /<h1>Please wait a moment<\/h1>\s*<p>Too many links asked for: 20 in 10 minutes/);
  assert.equal((await askFrom('198.51.100.8')).status, 200, 'from elsewhere');
  await bare.db`update wrong_try set tried_at = tried_at - interval '601 seconds'`;
  assert.equal((await askFrom('198.51.100.7')).status, 200, 'later');
});

test('a link that is tried many times over is found by no guess', async () => {
  await service.addSchool('guess');
  const link = await makeSignInLink(db, 'guess');
  assert.match(link, /^guess~[\w-]{43}$/);
  for (const guess of [link.toLowerCase(), link.slice(0, -1), link.toUpperCase()])
    assert.equal((await fetch(`${url}/school/open/${guess}`, { redirect: 'manual' })).status, 404);
  const kept = JSON.stringify(await db`select encode(hash, 'base64') as hash, estab from school_link`);
  assert.ok(!kept.includes(link));
});

test('a new address of record: what was sent to the old one opens nothing, and open requests go to the new one', async () => {
  await service.addSchool('moved');
  const application = await onboarding.addAsking('asker');
  await application.invite('moved');
  await arrived('the invitation', () => mailsTo('office@moved.example').length === 1);
  const link = linkIn(mailsTo('office@moved.example')[0]);
  const old = await onboarding.openLink(link);
  assert.deepEqual((await run('school confirm', { estab: 'moved', email: 'head@moved.example' })).data, {
    estab: 'moved', name: 'School moved', email: 'head@moved.example', invited: 1,
  });
  assert.deepEqual([(await fetch(link, { redirect: 'manual' })).status, (await old.get('/school/home')).status], [404, 303]);
  await arrived('the invitation', () => mailsTo('head@moved.example').length === 1);
  assert.match(await (await onboarding.openLink(linkIn(mailsTo('head@moved.example')[0]))).text('/school/home'), /Application asker/);
  const again = await run('school confirm', { estab: 'moved', email: 'head@moved.example' });
  assert.deepEqual(again.data, { estab: 'moved', name: 'School moved', email: 'head@moved.example', invited: 0 });
});

// ---- Names --------------------------------------------------------------------------------------------------------

const hostile = `"><script>alert(1)</script><img src=x onerror='alert(2)'>&amp;`;

test('what an application calls itself and says is shown as text, on every page and in every mail', async () => {
  const name = `Evil ${hostile}`;
  const application = await onboarding.addAsking('evil', 'School,Staff:optional', { name });
  await service.addSchool(
    'target',
    smallPackage({
      users: [
        user('s1', 'teacher', { givenName: '<script>alert(3)</script>' }), user('p1', 'student'), user('p2', 'student'), user('p3', 'student'),
        user('p9', 'student'), user('s2', 'aide'),
      ],
    }),
  );
  await application.invite('target', { Reason: `Because ${hostile}` });
  const visitor = await onboarding.signIn('target');
  const request = `/school/requests/${await onboarding.openRequest('target', 'evil')}`;
  const pages = [await visitor.text('/school/home'), await visitor.text(request)];
  assert.equal((await visitor.decide(request, { decision: 'approve', scopes: ['Staff'] })).status, 303);
  pages.push(await visitor.text('/school/home'), await visitor.text('/school/applications/evil'));
  for (const page of pages) {
    assert.match(page, /Evil &#34;&#62;&#60;script&#62;/);
    assert.doesNotMatch(page, /<script|<img|onerror='/);
  }
  assert.match(pages[1] ?? '', /Because &#34;&#62;&#60;script/);
  assert.match(pages[1] ?? '', /&#60;script&#62;alert\(3\)/);

  await arrived('invitation and receipt', () => mailsTo('office@target.example').length === 2);
  for (const { html, text, subject } of mailsTo('office@target.example')) {
    assert.doesNotMatch(html, /<script|<img/);
    assert.match(html, /Evil &#34;&#62;&#60;script&#62;/);
    assert.ok(text.includes(name));
    assert.ok(subject.includes('Evil "><script>'), subject);
  }
});

test('a name with line breaks starts no header of a mail, whoever typed it', async () => {
  const application = await onboarding.addAsking('inject', 'School', { name: 'Nice\r\nBcc: spy@elsewhere.example\r\n\r\nHello' });
  await service.addSchool('victim');
  await application.invite('victim');
  await arrived('the invitation', () => mailsTo('office@victim.example').length === 1);
  const [received] = mailsTo('office@victim.example');
  assert.deepEqual(received?.to, ['office@victim.example']);
  assert.doesNotMatch(received?.raw.split('\r\n\r\n')[0] ?? '', /^bcc:/im);
  assert.match(received?.subject ?? '', /^Nice Bcc: spy@elsewhere\.example Hello asks for data/);
  assert.equal(mail.mails.filter(({ to }) => to.includes('spy@elsewhere.example')).length, 0);
  // Over the API such a name does not even come in.
  assert.match((await application.invite('newschool', { SchoolName: 'A\r\nBcc: x@y.example' })).Message, /control characters/);
});
