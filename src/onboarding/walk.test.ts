// The whole way, in a browser: an application invites a school that nobody knows, the operator confirms it, the school
// approves without one optional scope, uploads its data and watches it load; the application reads what was granted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verifyWebhook } from '../../client/verify-webhook.js';
import { openPage } from '../../test/browser.ts';
import { linkIn, rosteringToken, useOnboarding, zip } from '../../test/onboarding.ts';
import { rootB } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';

const onboarding = await useOnboarding();
const { db, service, url, mail, receiver, arrived } = onboarding;
await service.work();

test('from an invitation to a live school', { timeout: 600_000 }, async () => {
  const [estab, office] = ['3804001', 'office@hill.example'];
  const application = await onboarding.addAsking('timetable', 'School,Student,Staff:optional,Contact:optional', { name: 'Timetable & Co' });

  // The application names a school and an address; nothing leaves until the operator has put the address right.
  const answer = await application.manage('POST', {
    Schools: [
      {
        LeaCode: '380', DfesCode: '4001', SchoolName: 'Hill School', SchoolContactEmail: 'spy@elsewhere.example', Reason: 'To show lessons',
        ScopesToAuthorise: null,
      },
    ],
  });
  assert.equal(answer.status, 200);
  assert.deepEqual((await onboarding.mailsOf(estab)).length, 0);
  assert.deepEqual((await onboarding.run('school confirm', { estab, email: office })).data, { estab, name: 'Hill School', email: office, invited: 1 });
  await arrived('the invitation', () => mail.mails.length > 0);
  assert.deepEqual(
    mail.mails.map(({ to, from, subject }) => [to, from, subject]),
    [[[office], 'schoolbell@trust.example', 'Timetable & Co asks for data of Hill School']],
  );

  // The link opens the request; what is required is said, what is optional is not ticked.
  const { page, complaints } = await openPage();
  await page.goto(linkIn(mail.mails[0]));
  assert.equal(await page.textContent('h1'), 'Timetable & Co asks for data of your school');
  assert.equal(await page.textContent('#school-name'), 'Hill School');
  assert.equal((await page.textContent('#reason'))?.trim(), 'To show lessons');
  assert.deepEqual(await Promise.all(['#allow-School', '#allow-Staff', '#allow-Contact'].map((id) => page.locator(id).count())), [0, 1, 1]);
  await page.check('#allow-Staff');
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.waitForURL(/\/school\/source/);
  assert.match((await page.textContent('#notice')) ?? '', /^Approved\./);

  // The first form: the school secret, and no data yet.
  await arrived('the first form', () => onboarding.forms('timetable').length > 0);
  const common = {
    schoolId: estab, schoolEmail: office, schoolName: 'Hill School', templateScopes: 'School,Student,Staff,Contact', scopes: 'School,Student,Staff',
    partnerId: 'timetable',
  };
  const [first] = onboarding.forms('timetable');
  assert.ok(first);
  assert.match(first.schoolSecret ?? '', /^sb_school_[\w-]{43}$/);
  assert.deepEqual(first, { ...common, schoolSecret: first.schoolSecret, thirdParty: '', installcomplete: 'false' });

  // Upload, and watch: the collection is held up so that the page is seen while it goes on.
  const releaseRoster = await holdRoster(estab);
  await page.setInputFiles('#package', { name: 'export.zip', mimeType: 'application/zip', buffer: await zip(smallPackage()) });
  await page.click('form#upload button');
  // The page that is loaded anew while it collects no longer says so.
  await page.waitForSelector('#notice');
  await page.waitForSelector('#database-SchoolData .badge:text("Collecting")');
  await releaseRoster();
  await page.waitForSelector('#database-SchoolData .badge:text("Up to date")');
  assert.match((await page.textContent('#outcome')) ?? '', /All records were imported/);
  assert.match((await page.textContent('#changes')) ?? '', /23 new/);

  // The second form: the same secret, and the data is there. Both are signed.
  await arrived('the second form', () => onboarding.forms('timetable').length > 1);
  assert.deepEqual(onboarding.forms('timetable'), [first, { ...common, schoolSecret: first.schoolSecret, thirdParty: 'Schoolbell', installcomplete: 'true' }]);
  for (const { method, headers, body } of receiver.arrivals) {
    assert.deepEqual([method, headers['content-type']], ['POST', 'application/x-www-form-urlencoded']);
    verifyWebhook(
      {
        'webhook-id': String(headers['webhook-id']),
        'webhook-timestamp': String(headers['webhook-timestamp']),
        'webhook-signature': String(headers['webhook-signature']),
      },
      body,
      application.signingSecret,
    );
  }

  // The secret buys a token, and the token exactly what was granted.
  const granted = (await (await rosteringToken(url, 'timetable', estab, first.schoolSecret ?? '')).json()) as { access_token: string };
  const read = (path: string) => fetch(`${url}${rootB}${path}`, { headers: { authorization: `Bearer ${granted.access_token}` } });
  const { users } = (await (await read('/users')).json()) as { users: { sourcedId: string }[] };
  assert.deepEqual(users.map(({ sourcedId }) => sourcedId).toSorted(), ['p1', 'p2', 'p3', 'p9', 's1', 's2']);
  assert.equal((await read('/classes')).status, 200);
  assert.equal((await read('/demographics')).status, 403);
  assert.equal((await read('/users/a1')).status, 404);
  const school = await fetch(`${url}/api/oauth/GetToken`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ estab, relyingParty: 'timetable', password: first.schoolSecret }),
  });
  const { token } = (await school.json()) as { token: string };
  const data = async (name: string) => (await fetch(`${url}/api/v1/${name}`, { headers: { authorization: `Idaas ${token}` } })).status;
  assert.deepEqual([await data('Students'), await data('Staff'), await data('Contacts')], [200, 200, 403]);

  // The ledger shows it to the school, together with what happened.
  await arrived('the ledger', async () => (await db`select from disclosure where estab = ${estab}`).length === 4);
  await page.goto(`${url}/school/home`);
  assert.match((await page.textContent('#application-timetable')) ?? '', /Live/);
  await page.click('#application-timetable a');
  assert.match((await page.textContent('#state')) ?? '', /^Live/);
  const cells = await page.locator('#reads-table tbody td').allTextContents();
  assert.deepEqual([0, 5, 10, 15].map((at) => cells.slice(at + 1, at + 4).join(' ')), ['Staff 1 2', 'Students 1 4', 'Classes 1 3', 'People (users) 1 6']);
  assert.deepEqual((await onboarding.events(estab)).map(({ state, actor }) => `${state} ${actor}`), ['Invited application', 'Approved school', 'Live service']);

  // On a phone nothing runs out of the page.
  const cookies = await page.context().cookies();
  const phone = await openPage({ width: 390, height: 844 });
  await phone.page.context().addCookies(cookies);
  for (const path of ['/school/home', '/school/applications/timetable', '/school/source', '/school']) {
    await phone.page.goto(`${url}${path}`);
    const [wide, seen] = (await phone.page.evaluate('[document.documentElement.scrollWidth, document.documentElement.clientWidth]')) as [number, number];
    assert.ok(wide <= seen, `${path} is ${wide} wide on a screen of ${seen}`);
  }
  assert.deepEqual([...complaints, ...phone.complaints], []);
});

/** Holds the roster's lock, so that a collection waits; gives how to let go. */
async function holdRoster(estab: string): Promise<() => Promise<void>> {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const begun = Promise.withResolvers<void>();
  const ended = db.begin(async (tx) => {
    await tx`select from roster where estab = ${estab} for update`;
    begun.resolve();
    await released;
  });
  await begun.promise;
  return async () => {
    release();
    await ended;
  };
}
