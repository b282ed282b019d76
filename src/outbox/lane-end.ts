// In charge of lanes that have done nothing but fail: a notice after four days, the end after five. What still waits
// in a lane that has ended is failed, and can be replayed once the lane is open again.
import type { Db } from '../db/connect.ts';

export type LaneNotice = { key: string; failingSince: Date; ended: boolean };

const warnAfterHours = 96;
const endAfterHours = 120;

export async function endFailingLanes(db: Db): Promise<LaneNotice[]> {
  return db.begin(async (tx) => {
    await tx`select from lane where lasting and disabled_at is null and failing_since < now() - make_interval(hours => ${warnAfterHours}) order by key for update`;
    const ended = await tx<LaneNotice[]>`
      update lane set disabled_at = now(), disabled_why = 'five days of nothing but failures', next_at = null
      where lasting and disabled_at is null and failing_since < now() - make_interval(hours => ${endAfterHours})
      returning key, failing_since as "failingSince", true as ended`;
    const warned = await tx<LaneNotice[]>`
      update lane set warned_at = now() where lasting and disabled_at is null and warned_at is null and failing_since < now() - make_interval(hours => ${warnAfterHours})
      returning key, failing_since as "failingSince", false as ended`;
    await tx`update outbox o set state = 'failed', settled_at = now() from lane l where l.key = o.lane and l.disabled_at is not null and o.state = 'waiting'`;
    return [...ended, ...warned];
  }) as Promise<LaneNotice[]>;
}
