// Whom the pages and actions of the console are for: a developer of one application, at every page and every action of the tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useConsole } from '../../test/console.ts';
import { requireOwnPlaces } from './admit.ts';
import { actions, pages } from './routes.ts';

const { service, enter } = await useConsole();
const { db } = service;
await service.addSchool('3805001');
await service.addClient('own.example', ['3805001']);
await service.addClient('other.example', ['3805001']);
const developer = await enter('developer', 'dev@own.example', ['own.example']);
const ofApplication = '/console/applications/:rp';

test('a place for developers is of an application, or of themselves', () => {
  requireOwnPlaces([...pages, ...actions]);
  assert.throws(() => requireOwnPlaces([{ path: '/console/schools/:estab', developers: true }]), /not below/);
  assert.throws(() => requireOwnPlaces([{ path: '/console/applications', developers: true }]), /not below/);
});

test('what a developer may do leads back to a page that is for developers', () => {
  const open = new Set(pages.filter(({ developers }) => developers).map(({ path }) => path));
  const closed = actions.filter(({ developers, may }) => developers || may === 'self').filter(({ path }) => !open.has(path.slice(0, path.lastIndexOf('/'))));
  assert.deepEqual(closed.map(({ path }) => path), []);
});

test('one application is where its developer begins', async () => {
  assert.deepEqual((await developer.get('/console')).location, '/console/applications/own.example');
  const { status, text } = await developer.get('/console/applications/own.example');
  assert.equal(status, 200);
  assert.match(text, /Developer/);
});

for (const rp of ['other.example', 'none.example'])
  test(`of ${rp} a developer of another sees nothing, page by page`, async () => {
    for (const { path, developers } of pages) {
      const { status, text } = await developer.get(path.replace(':rp', rp).replaceAll(/:\w+/g, 'none'));
      if (developers && !path.startsWith(ofApplication)) continue;
      assert.equal(status, 404, path);
      assert.match(text, developers ? /There is no such application\./ : /There is nothing at this address\./, path);
    }
  });

test('what is refused to a developer is a line of the trail, with whose it would have been', async () => {
  for (const { path, name, may } of actions) {
    if (may === 'self') continue;
    await db`truncate audit_event`;
    const { status } = await developer.post(path.replace(':rp', 'other.example').replaceAll(/:\w+/g, 'none'));
    assert.equal(status, 404, path);
    const lines = await db`select actor, action, outcome, rp from audit_event`;
    assert.deepEqual(lines.map(({ actor, action, outcome }) => [actor, action, outcome]), [['dev@own.example', name, 'refused']], path);
    if (path.includes(':rp')) assert.equal(lines[0]?.rp, 'other.example', path);
  }
});
