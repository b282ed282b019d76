// In charge of how many mails with links to passwords go out: to a person within the hour, and to a school's people
// within the day.
// What was sent stands in the audit, written in the transaction of the mail.
import { isRecent } from '../db/clock.ts';
import type { Fragment, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';

const perPersonAnHour = 3;
/** A stranger can ask for the second kind: those use up nothing of the first. */
const kinds = {
  registration: { operations: ['CreateLogin', 'CreateUser'], perSchoolADay: 5_000, what: 'registration mails' },
  forgotten: { operations: ['ForgottenPassword'], perSchoolADay: 500, what: 'mails with a link for a new password' },
} as const;

/**
 * For so many more mails, to one person or to people who have had none. One call at a time for a school, so that many at
 * once do not slip by.
 */
export async function requireMailsLeft(
  tx: Tx,
  estab: string,
  { mails, presenceId, why = 'registration' }: { mails: number; presenceId?: string; why?: keyof typeof kinds },
): Promise<void> {
  const { operations, perSchoolADay, what } = kinds[why];
  await tx`select pg_advisory_xact_lock(hashtextextended(${`registration mails ${estab}`}, 0))`;
  const sent = tx`and operation = any(${[...operations]}::text[])`;
  if (presenceId !== undefined) {
    const wait = await findWait(tx, estab, tx`${sent} and presence_id = ${presenceId}`, 3600, perPersonAnHour - mails);
    const words = `This person was sent ${perPersonAnHour} ${what} within the last hour; the link of the latest opens. Nothing was sent.`;
    if (wait !== undefined) throw tooMany(wait, words);
  }
  const wait = await findWait(tx, estab, sent, 24 * 3600, perSchoolADay - mails);
  const words = `At most ${perSchoolADay.toLocaleString('en')} ${what} a day go to the people of a school. Nothing was sent.`;
  if (wait !== undefined) throw tooMany(wait, words);
}

/** Seconds until no more than `most` were sent within the while; undefined when that is so now. */
async function findWait(tx: Tx, estab: string, whom: Fragment, seconds: number, most: number): Promise<number | undefined> {
  const [row] = await tx<{ wait: number }[]>`
    select greatest(1, ceil(extract(epoch from at - now()) + ${seconds}::int))::int as wait from identity_audit
    where estab = ${estab} and outcome = 'done' and ${isRecent(tx, tx`at`, seconds)} ${whom}
    order by at desc offset ${most}::int limit 1`;
  return row?.wait;
}

function tooMany(wait: number, message: string): SchoolbellError {
  return new SchoolbellError('too_many_requests', message, { headers: { 'retry-after': String(wait) } });
}
