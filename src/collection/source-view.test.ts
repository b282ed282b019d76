// Covers what is shown of a school's source while an import ends: what is said of the data agrees with what is said of the import.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { smallPackage, smallSchool, user } from '../../test/small-school.ts';
import { useService } from '../../test/service.ts';
import type { Db } from '../db/connect.ts';
import { readSource } from './source-view.ts';

const service = await useService();
const { db } = service;

/** `listed` is called when the imports were listed for the first time. */
function interrupted(listed: () => Promise<unknown>): Db {
  let isFirst = true;
  return new Proxy(db, {
    apply(_, __, [strings, ...values]: [TemplateStringsArray | string, ...unknown[]]) {
      if (typeof strings === 'string') return db(strings);
      const ask = db as unknown as (strings: TemplateStringsArray, ...values: unknown[]) => Promise<unknown>;
      if (!isFirst || !strings.join('').includes('from import_run')) return ask(strings, ...values);
      isFirst = false;
      return (async () => {
        const rows = await ask(strings, ...values);
        await listed();
        return rows;
      })();
    },
  });
}

test('an import that ends while they are read is in both', async () => {
  await service.addSchool('s1', smallPackage());
  const refuse = () => service.load('s1', smallPackage({ users: [...smallSchool.users, user('p1', 'student')] }));
  const { databases, runs, last } = await readSource(interrupted(refuse), 's1');
  assert.match(databases[0]?.message ?? '', /refused/);
  assert.deepEqual(runs.map(({ outcome }) => outcome), ['refused', 'done']);
  assert.equal(last?.id, runs[0]?.id);
});
