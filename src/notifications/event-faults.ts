// In charge of what the sandbox does to calls to an application of the demo: made twice, late, in another order, or not at all. Each is an
// attempt with an outcome like any other, so that it is settled under the claim, can be seen, and loses nothing when a process dies.
import { readMoment } from '../db/clock.ts';
import type { Db } from '../db/connect.ts';
import type { ClaimedWork } from '../outbox/claim.ts';
import type { Outcome } from '../outbox/settle.ts';
import { wakeWork } from '../outbox/wake.ts';

/** before: what becomes of it in place of a call; undefined: it is made. after: what becomes of it once it was made. */
export type EventFaults = { before(work: ClaimedWork): Promise<Outcome | undefined>; after(work: ClaimedWork, outcome: Outcome): Promise<Outcome> };

export const eventFaults = ['duplicated', 'delayed', 'out-of-order', 'never'] as const;
type Fault = { mode: (typeof eventFaults)[number]; seconds: number; holding: string | null };

/** As long as the call behind it does not come: then it goes out alone. */
export const longestHeldSeconds = 30;
const waitsFor = 'sandbox';
/** Only what is tried for the first time: whatever is replayed goes out. */
const isFirst = (work: ClaimedWork) => work.attempts === 0 && work.forgiven === 0;

export function createEventFaults(db: Db, isDemo: (rp: string) => Promise<boolean>): EventFaults {
  async function find({ rp }: ClaimedWork): Promise<Fault | undefined> {
    if (rp === null || !(await isDemo(rp))) return undefined;
    const [fault] = await db<Fault[]>`select mode, seconds, holding from sandbox_fault where rp = ${rp} and kind = 'events' and until > now()`;
    return fault;
  }

  return {
    async before(work) {
      const fault = isFirst(work) ? await find(work) : undefined;
      if (fault?.mode === 'never') return withhold(db, work);
      if (fault?.mode === 'delayed') return delay(db, work, fault.seconds);
      if (fault?.mode === 'out-of-order' && (await hold(db, work)))
        return { ...later('out_of_order', longestHeldSeconds, 'the sandbox sends the next one first'), waitsFor };
      return undefined;
    },
    async after(work, outcome) {
      if (!isFirst(work) || !outcome.success) return outcome;
      const fault = await find(work);
      if (fault?.mode === 'out-of-order') await release(db, work, fault.holding);
      if (fault?.mode !== 'duplicated') return outcome;
      return { ...outcome, state: 'waiting', delaySeconds: 0, detail: { ...outcome.detail, message: 'arrived; the sandbox sends everything twice' } };
    },
  };
}

/** Late by when it was due: one that has waited behind another that is late is as late by then. */
async function delay(db: Db, { estab, id }: ClaimedWork, seconds: number): Promise<Outcome | undefined> {
  const [due] = await db<{ since: number }[]>`
    select extract(epoch from clock_timestamp() - due_at)::float8 as since from outbox where estab = ${estab} and id = ${id}`;
  const left = seconds - (due?.since ?? 0);
  return left > 0 ? later('delayed', left, `the sandbox sends this ${seconds} s late`) : undefined;
}

/** Neither an attempt of the schedule nor the receiver's fault. */
function later(errorClass: string, delaySeconds: number, message: string): Outcome {
  return { success: false, state: 'waiting', delaySeconds, charged: false, forgiven: true, errorClass, detail: { message } };
}

/** A registration is noted as one that was not told, for `replay --missing`. */
async function withhold(db: Db, { estab, lane }: ClaimedWork): Promise<Outcome> {
  await db`update webhook set missed_at = ${await readMoment(db)} where estab = ${estab} and 'webhook ' || id = ${lane}`;
  return { success: false, state: 'cancelled', errorClass: 'withheld', detail: { message: 'the sandbox withheld this call: it was never sent' } };
}

/** The first of two waits. Whether there is one already is judged under the lock of the fault's row, in whichever process. */
async function hold(db: Db, { estab, id, rp }: ClaimedWork): Promise<boolean> {
  return db.begin(async (tx) => {
    const [fault] = await tx<{ holding: string | null }[]>`select holding from sandbox_fault where rp = ${rp} and kind = 'events' for update`;
    const [atSchool = '', held = ''] = fault?.holding?.split(' ') ?? [];
    const waiting = await tx`select from outbox where estab = ${atSchool} and id = ${held} and rp = ${rp} and state in ('running', 'waiting')`;
    if (!fault || waiting.length > 0) return false;
    await tx`update sandbox_fault set holding = ${`${estab} ${id}`} where rp = ${rp} and kind = 'events'`;
    return true;
  });
}

/** The second has gone out: the first is due. */
async function release(db: Db, { rp }: ClaimedWork, holding: string | null): Promise<void> {
  const [estab = '', id = ''] = holding?.split(' ') ?? [];
  await db.begin(async (tx) => {
    const [held] = await tx<{ lane: string }[]>`select lane from outbox where estab = ${estab} and id = ${id} and rp = ${rp}`;
    if (held) await wakeWork(tx, { estab, lane: held.lane }, [waitsFor]);
    await tx`update sandbox_fault set holding = null where rp = ${rp} and kind = 'events' and holding = ${holding}`;
  });
}
