// Covers school data that changes while it is read, where statements of one transaction do not see the same: what is answered is of one
// version all the same, or nothing is.
import assert from 'node:assert/strict';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { smallPackage, smallSchool, user } from '../../test/small-school.ts';
import { useService } from '../../test/service.ts';
import { scopeNames } from '../access/scopes.ts';
import type { Connection, Db } from '../db/connect.ts';
import { createListFolder } from '../roster/list-folder.ts';
import { answerData } from './answer.ts';
import { findEndpoint } from './catalogue.ts';
import { parseDataRequest } from './data-request.ts';

const service = await useService();
const { db } = service;
const folder = createListFolder({ folder: `${service.dataDir}/moving`, maxBytes: 0 });

/** Each statement sees what was committed before it; `looked` is called whenever it was asked what is noted of the school. */
function withoutSnapshots(looked: () => Promise<unknown>): Db {
  const reserve = async () =>
    new Proxy(await db.reserve(), {
      apply(connection, _, [strings, ...values]: [TemplateStringsArray, ...unknown[]]) {
        const ask = connection as unknown as (strings: TemplateStringsArray, ...values: unknown[]) => Promise<unknown>;
        if (strings[0]?.startsWith('begin')) return connection`begin read only`;
        if (!strings.join('').includes('from roster_standing')) return ask(strings, ...values);
        return (async () => {
          const noted = await ask(strings, ...values);
          await looked();
          return noted;
        })();
      },
    }) as Connection;
  return { reserve } as unknown as Db;
}

type Answer = { Students: { Id: string }[]; meta: { Version: number }[]; __pagination__: { RowCount: number }[] };

async function read(estab: string, looked: () => Promise<unknown>, tell: (records: number) => unknown = () => {}): Promise<Answer> {
  const endpoint = findEndpoint('Students');
  assert.ok(endpoint);
  const who = { rp: 'reads', estab, scopes: scopeNames, expiresAt: new Date() };
  return (await json(await answerData({ db: withoutSnapshots(looked), folder }, who, endpoint, parseDataRequest({}, endpoint), new Date(), tell))) as Answer;
}

const withPupils = (count: number) =>
  smallPackage({ users: [...smallSchool.users, ...Array.from({ length: count }, (_, at) => user(`more${at}`, 'student'))] });

test('what moved while it was read is read again, and told of once', async () => {
  await service.addSchool('once', smallPackage());
  let looks = 0;
  const told: number[] = [];
  const load = async () => (looks += 1) === 1 && service.load('once', withPupils(3));
  const { Students: rows, meta, __pagination__: pages } = await read('once', load, (records) => told.push(records));
  assert.deepEqual([rows.length, meta[0]?.Version, pages[0]?.RowCount, looks, told], [7, 2, 7, 2, [7]]);
});

test('what never stands still is not answered; the caller is asked to come again', async () => {
  await service.addSchool('restless', smallPackage());
  let pupils = 0;
  await assert.rejects(read('restless', () => service.load('restless', withPupils((pupils += 1)))), { code: 'unavailable' });
  assert.equal((await read('restless', async () => {})).Students.length, 4 + pupils);
});

test('while a version is committed in one place and not yet in the other, nobody is told of the one with the rows of the other', async () => {
  await service.addSchool('halves', smallPackage());
  const client = await service.addClient('reads', ['halves']);
  await db`update roster_standing set version = 2 where estab = 'halves'`;
  const early = await client.s('halves', 'Students');
  assert.deepEqual([early.status, early.headers.get('retry-after')], [503, '1']);
  let looks = 0;
  const settle = async () => (looks += 1) === 2 && db`update roster_standing set version = 1 where estab = 'halves'`;
  assert.equal((await read('halves', settle)).meta[0]?.Version, 1);
  assert.equal((await client.s('halves', 'Students')).status, 200);
});
