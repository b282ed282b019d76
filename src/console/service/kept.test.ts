// Tests that each page which says how long something is kept says what the row of the retention does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { smallPackage, smallSchool } from '../../../test/small-school.ts';
import { keptDays } from '../../kept.ts';
import { retention } from '../../retention.ts';

const config = { purgeAfterDays: 90 };
const { service, enter } = await useConsole({ PURGE_AFTER_DAYS: String(config.purgeAfterDays) });
const { db } = service;

test('pages say the period of the row', async () => {
  await service.addSchool('kept', smallPackage(smallSchool));
  await service.addClient('keeping', ['kept']);
  // A target of a new application would say how long it has been there.
  await db`update application set created_at = now() - interval '90 days' where rp = 'keeping'`;
  await db`insert into lane (key, width, lasting) values ('collect', 1, false) on conflict do nothing`;
  await db`insert into outbox (estab, id, kind, lane, topic, payload, due_at, state, settled_at) values
    ('kept', 'kept-1', 'collect', 'collect', 'collect SchoolData', ${db.json({ database: 'SchoolData' })}, now(), 'done', now()),
    ('kept', 'kept-2', 'mail', 'collect', null, ${db.json({ to: 'office@kept.example', subject: 'Kept' })}, now(), 'done', now())`;
  await db`insert into lane (key, host, width, lasting) values ('one-off keeping https://r.example', 'r.example', 1, true)`;
  const pages: Readonly<Record<string, readonly string[]>> = {
    audit_event: ['audit'],
    request_line: ['applications/keeping/requests'],
    roster_user_history: ['schools/kept/roster/users/p1/history'],
    outbox: [
      'deliveries?estab=kept', 'deliveries/none', 'mail', 'mail/none', 'work', 'schools/kept/source',
      `targets/${encodeURIComponent('one-off:keeping:https://r.example')}`,
    ],
  };
  const viewer = await enter('viewer');
  for (const [table, paths] of Object.entries(pages)) {
    const ends = retention.find(({ where }) => where.includes(table))?.ends;
    assert.ok(ends && 'days' in ends, table);
    for (const path of paths) {
      const { text } = await viewer.get(`/console/${path}`);
      const said = /(?:kept for|of the last|none in)\s(\d+) days/i.exec(text)?.[1];
      assert.equal(said, String(keptDays(ends.days, ends.namesPeople, config)), path);
    }
  }
});
