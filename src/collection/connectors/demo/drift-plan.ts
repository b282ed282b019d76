// In charge of when the demo school changes: at any instant, which changes are in force. Time is cut into slots of ten
// minutes from a fixed epoch, the plan is computed from a slot's number alone, and it has no beginning and no end.
//
// - Every 18th slot (three hours) somebody comes or goes, in turn: a joiner arrives, an earlier joiner leaves again, a
//   pupil leaves, an earlier leaver is back. Each such change lasts a little over four days.
// - In every other slot one small change begins and the one that began six hours earlier is taken back. Six hours are
//   twice 18 slots, so that nothing small begins or ends in the slots of comings and goings.
//
// So consecutive slots always differ, by a small change or two or by one person, and never more than 34 small changes,
// 9 joiners and 9 leavers are in force: under 2 % of every collection.
import { yearBegins } from './calendar.ts';

export const smallChanges = ['email', 'house', 'room', 'contactPhone', 'username', 'tutorGroup', 'teachingSet'] as const;
export type ChangeKind = (typeof smallChanges)[number] | 'joiner' | 'leaver';

export type Change = Readonly<{
  kind: ChangeKind;
  /** Counts the changes of a kind, on both sides of the epoch. */
  number: number;
  /** When it was recorded. */
  since: string;
  /** The date from which it holds, not before the year began. */
  day: string;
}>;

const epoch = Date.parse(`${yearBegins}T00:00:00Z`);
export const slotMs = 10 * 60 * 1000;
const comingsAndGoings = 18;
const smallLife = 2 * comingsAndGoings;
/** One arrives and one leaves in twelve hours; the rest of the cycle is for those who go again and come back. */
const personCycle = 4 * comingsAndGoings;
const personLife = 8 * personCycle + comingsAndGoings;

export function slotOf(at: Date): number {
  return Math.floor((at.getTime() - epoch) / slotMs);
}

/** What is in force at an instant, by when it began. */
export function changesInForce(at: Date): Change[] {
  const slot = slotOf(at);
  const changes: Change[] = [];
  for (let began = slot - personLife + 1; began <= slot; began += 1) {
    const kind = kindBeginning(began);
    if (kind === undefined) continue;
    const person = kind === 'joiner' || kind === 'leaver';
    if (!person && began <= slot - smallLife) continue;
    const since = new Date(epoch + began * slotMs).toISOString();
    const day = began < 0 ? yearBegins : since.slice(0, 10);
    changes.push({ kind, number: Math.floor(began / (person ? personCycle : smallChanges.length)), since, day });
  }
  return changes;
}

function kindBeginning(slot: number): ChangeKind | undefined {
  if (wrap(slot, comingsAndGoings) > 0) return smallChanges[wrap(slot, smallChanges.length)];
  const turn = wrap(slot, personCycle) / comingsAndGoings;
  return turn === 0 ? 'joiner' : turn === 2 ? 'leaver' : undefined;
}

/** The remainder that is never negative. */
export function wrap(number: number, length: number): number {
  return ((number % length) + length) % length;
}
