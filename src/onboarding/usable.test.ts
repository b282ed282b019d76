// Walks a school's pages in a browser, on a phone and at a desk, light and dark: everybody can use them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { leastRoom, openLook, requireUsableInEveryLook } from '../../test/accessibility.ts';
import { useOnboarding } from '../../test/onboarding.ts';
import { enrolment, smallPackage, smallSchool, user } from '../../test/small-school.ts';
import { makeSignInLink } from './links.ts';

const onboarding = await useOnboarding();
const { db, service, url } = onboarding;
const asking = await onboarding.addAsking('asking', 'School,Student,StudentDemographic,WritebackAttendance,Attendance:optional,Identity:optional');
const [full, empty] = ['3804001', '3804002'];
await service.addSchool(full, smallPackage());
await service.addSchool(empty);
for (const estab of [full, empty]) await asking.invite(estab, { Reason: 'To show lessons' });
// One application in each state, with something read and something that happened.
for (const [rp, last] of [['live', 'resume'], ['paused', 'pause'], ['revoked', 'revoke']] as const) {
  await onboarding.addAsking(rp, 'School,Staff:optional');
  await onboarding.run('authorise', { rp, estab: full, scopes: 'School,Staff' });
  if (last !== 'resume') await onboarding.run(last, { rp, estab: full });
}
await db`insert into disclosure (estab, rp, day, collection, requests, records, fields)
  select ${full}, 'live', current_date - n, 'users', 3, 1200, array['givenName', 'familyName', 'email', 'role', 'grades'] from generate_series(1, 50) n`;
await db`update application set website = 'https://live.example/', privacy_notice = 'https://live.example/privacy', contact = 'help@live.example'
  where rp = 'live'`;

// Imports as a school meets them: refused, held, and under way.
const many = <T>(number: number, make: (at: number) => T) => Array.from({ length: number }, (_, at) => make(at));
const long = 'Wolfeschlegelsteinhausenbergerdorff'.repeat(2);
const pupils = (number: number) =>
  smallPackage({ users: [...smallSchool.users, ...many(number, (at) => user(`x${at}`, 'student', { familyName: at === 59 ? long : `Nr ${at}` }))] });
const [refused, held, busy] = ['3804003', '3804004', '3804005'];
await service.addSchool(refused, smallPackage());
await service.load(refused, smallPackage({
  users: [...smallSchool.users, user('w', long), user('x', 'student', { enabledUser: 'perhaps' })],
  enrollments: [...smallSchool.enrollments, enrolment('y', 'w', 'k1')],
}));
await service.addSchool(held, pupils(60));
assert.equal((await service.load(held, pupils(5))).outcome, 'held');
await service.addSchool(busy, smallPackage());
await db`update component_database set refreshing_since = now(), progress = 0.4 where estab = ${busy}`;

test("everybody can use a school's pages, on a phone and at a desk, light and dark", { timeout: 600_000 }, async () => {
  const { page, complaints } = await openLook(leastRoom);
  const visit = async (path: string) => {
    await page.goto(`${url}${path}`);
    await requireUsableInEveryLook(page, path);
  };
  await visit('/school');
  await page.fill('#estab', full);
  await page.click('#ask-link button');
  await page.waitForLoadState();
  await requireUsableInEveryLook(page, 'the link is on its way');
  await visit('/school/open/nothing');
  for (const estab of [full, empty]) {
    await page.goto(`${url}/school/open/${await makeSignInLink(db, estab)}`);
    await requireUsableInEveryLook(page, 'home');
    await visit(`/school/requests/${await onboarding.openRequest(estab, 'asking')}`);
    await visit('/school/source');
  }
  await page.goto(`${url}/school/open/${await makeSignInLink(db, full)}`);
  for (const rp of ['live', 'paused', 'revoked']) await visit(`/school/applications/${rp}`);
  await visit('/school/requests/nothing');
  for (const estab of [refused, held, busy]) {
    await page.goto(`${url}/school/open/${await makeSignInLink(db, estab)}`);
    await requireUsableInEveryLook(page, `home of ${estab}`);
    await visit('/school/source');
    const [run] = await db<{ id: string }[]>`select id from import_run where estab = ${estab} order by finished_at desc limit 1`;
    await visit(`/school/source/imports/${run?.id}`);
  }
  await visit('/school/source/imports/nothing');
  await visit('/school/source/job');
  await page.click('#make-token button');
  await page.waitForSelector('#made');
  await requireUsableInEveryLook(page, 'a token was made');
  await visit('/school/source/job');
  assert.deepEqual(complaints.filter((one) => !/status of 404/.test(one)), []);
});

test('each colour of the style sheet is one of its tokens, and has a value for the dark', () => {
  const style = readFileSync(new URL('../http/pages/style.css', import.meta.url), 'utf8');
  const [light = '', dark = '', ...rest] = style.split(/(?<=\n)\}\n/);
  assert.match(dark, /prefers-color-scheme: dark/);
  assert.deepEqual(rest.join('').match(/.*#[\da-f]{3,8}\b.*/gi), null);
  const named = (part: string) => [...part.matchAll(/(--[\w-]+):/g)].map(([, name]) => name);
  assert.deepEqual(named(light).filter((name) => !named(dark).includes(name)), ['--on-deep', '--focus']);
});
