// A school that was removed and added again, and how many whole lists one application may read at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authorise } from '../access/authorisations.ts';
import { removeRoster } from '../collection/remove.ts';
import { csvPackage } from '../../test/csv-package.ts';
import { testedDialects, type TestedDialect } from '../../test/dialects.ts';
import { useService } from '../../test/service.ts';
import { createTurnstile } from './turnstile.ts';

const service = await useService();
const school = (name: string) => csvPackage({ orgs: [{ sourcedId: 'o', name, type: 'school' }] });

test('nothing of a removed school is remembered when one of the same number takes its place', async () => {
  await service.addSchool('1', school('Old'));
  const client = await service.addClient('app', ['1']);
  const read = async ({ root, token }: TestedDialect, headers: Record<string, string> = {}) =>
    fetch(`${service.url}${root}/orgs?limit=10`, { headers: { authorization: `Bearer ${await token(client, '1')}`, ...headers } });
  const before = new Map<TestedDialect, { tag: string; version: string | null }>();
  for (const dialect of testedDialects) {
    const old = await read(dialect);
    assert.match(await old.text(), /"name":"Old"/);
    before.set(dialect, { tag: old.headers.get('etag') ?? '', version: old.headers.get('x-roster-version') });
  }
  await removeRoster(service.db, '1');
  await service.addSchool('1', school('New'));
  client.schoolSecrets['1'] = (await authorise(service.db, { rp: 'app', estab: '1' })).schoolSecret;
  for (const [dialect, { tag, version }] of before) {
    const fresh = await read(dialect, { 'if-none-match': tag });
    assert.equal(fresh.status, 200, dialect.name);
    assert.notEqual(fresh.headers.get('x-roster-version'), version);
    assert.match(await fresh.text(), /"name":"New"/);
  }
});

test('beyond its share an application waits for its own lists, not for those of others', async () => {
  const enter = createTurnstile(1, 20);
  const leave = await enter('a');
  (await enter('b'))();
  const next = enter('a');
  leave();
  leave();
  (await next)();
  const held = await enter('a');
  await assert.rejects(enter('a'), { code: 'too_many_requests' });
  held();
  (await enter('a'))();
});
