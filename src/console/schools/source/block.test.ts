// The data of a school in short, as it stands on the school's own page: without a source, while something goes on, and held.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useConsole } from '../../../../test/console.ts';
import { smallPackage, smallSchool, user } from '../../../../test/small-school.ts';
import { scriptPaths } from '../../../http/pages/scripts.ts';
import { requireListedSchool } from '../../../onboarding/school-states.ts';
import type { ConsoleParts, Visit } from '../../visit.ts';
import { renderSourceBlock } from './block.ts';

const { service } = await useConsole();
const { db } = service;

async function block(estab: string, role: 'admin' | 'viewer' = 'admin'): Promise<{ text: string; scripts: readonly string[] }> {
  const school = await requireListedSchool(db, estab);
  const { body, scripts } = await renderSourceBlock({ db, now: Date.now } as ConsoleParts, { operator: { role } } as Visit, school);
  return { text: body.text, scripts };
}

test('without a source it says how to begin, to whoever may', async () => {
  await service.addSchool('none');
  const { text, scripts } = await block('none');
  assert.match(text, /No data has come yet[\s\S]*href="\/console\/schools\/none\/source">Connect a source/);
  assert.deepEqual(scripts, []);
  assert.doesNotMatch((await block('none', 'viewer')).text, /Connect a source|Upload/);
});

test('while something goes on it is followed, and then it is not', async () => {
  await service.addSchool('busy', smallPackage());
  const still = await block('busy');
  assert.match(still.text, /Up to date[\s\S]*Last import[\s\S]*Imported/);
  assert.doesNotMatch(still.text, /data-follow/);
  await db`update component_database set refreshing_since = now(), progress = 0.25 where estab = 'busy'`;
  const { text, scripts } = await block('busy');
  assert.match(text, /Collecting[\s\S]*25 %[\s\S]*href="\/console\/schools\/busy" class="again"[\s\S]*data-follow/);
  assert.deepEqual(scripts, [scriptPaths.follow]);
});

test('what is held comes first, with the way to decide', async () => {
  await service.addSchool('held', smallPackage({ users: [...smallSchool.users, ...Array.from({ length: 60 }, (_, at) => user(`x${at}`, 'student'))] }));
  await service.load('held', smallPackage());
  const { text } = await block('held');
  assert.match(text, /An import waits for approval[\s\S]*60 of 64 student users[\s\S]*href="\/console\/schools\/held\/held"[\s\S]*badge wait">Waits for/);
});
