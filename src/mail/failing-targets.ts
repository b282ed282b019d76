// In charge of telling an application's contact that calls to it fail: once when they have done nothing but fail for a
// day, and once when the target is disabled; again only after it has answered, or was tried anew, in between.
import type { Db, Fragment, Sql } from '../db/connect.ts';
import { describeFault, type CallFault } from '../http/call-fault.ts';
import { writeLetter, type Letter } from './letter.ts';
import { enqueueMail, mailLane } from './mail.ts';

const failingHours = 24;
/** One call that failed and was not to be repeated, such as a test, is no state of things. */
const fewestFailures = 2;

type Failing = { key: string; estab: string; id: string; rp: string; event: string; url: string; name: string; contact: string };
type Standing = { failingSince: Date | null; disabledAt: Date | null; disabledWhy: string | null };
type LastFault = CallFault & { at: Date };

/** Gives how many mails were written. A target without a contact is told of as soon as there is one. */
export async function tellFailingTargets(db: Db, publicUrl: string): Promise<number> {
  // By `seq`, which only the rows of the lane can be put in order by.
  const failing = await db<Failing[]>`
    select l.key, o.estab, o.id, o.rp, o.event, o.url, p.name, p.contact
    from lane l cross join lateral (
      select o.estab, o.id, o.rp, o.payload ->> 'event' as event, o.payload ->> 'url' as url from outbox o where o.lane = l.key and o.kind = 'call'
      order by o.seq desc limit 1) o
    join application p on p.rp = o.rp and p.contact <> ''
    where ${isDue(db)} order by l.key`;
  let written = 0;
  for (const one of failing) if (await tell(db, one, publicUrl)) written += 1;
  return written;
}

function isDue(sql: Sql): Fragment {
  return sql`((l.disabled_at is not null and (l.disabled_told_at is null or l.disabled_told_at < l.disabled_at))
    or (l.disabled_at is null and l.paused_at is null and l.failures >= ${fewestFailures} and l.failing_since < now() - make_interval(hours => ${failingHours})
      and (l.failing_told_at is null or l.failing_told_at < l.failing_since)))`;
}

/** What is noted and the mail are one transaction; whoever finds the same target due meanwhile finds it told. */
async function tell(db: Db, one: Failing, publicUrl: string): Promise<boolean> {
  return db.begin(async (tx) => {
    // Both lanes at once and in order, as everybody who needs more than one.
    await tx`select from lane where key = any(${[one.key, mailLane]}) order by key for update`;
    const [standing] = await tx<Standing[]>`
      update lane l set failing_told_at = now(), disabled_told_at = case when l.disabled_at is null then l.disabled_told_at else now() end
      where l.key = ${one.key} and ${isDue(tx)}
      returning l.failing_since as "failingSince", l.disabled_at as "disabledAt", l.disabled_why as "disabledWhy"`;
    if (!standing) return false;
    const [fault] = await tx<LastFault[]>`
      select a.at, a.error_class as "errorClass", (a.detail ->> 'status')::int as status, a.detail ->> 'message' as message
      from outbox o join outbox_attempt a on a.estab = ${one.estab} and a.id = o.id
      where o.estab = ${one.estab} and o.lane = ${one.key} and not a.success order by a.at desc limit 1`;
    await enqueueMail(tx, { estab: one.estab, rp: one.rp, to: one.contact, ...renderFailing(one, standing, fault, publicUrl) });
    return true;
  });
}

function renderFailing(one: Failing, { failingSince, disabledAt, disabledWhy }: Standing, fault: LastFault | undefined, publicUrl: string): Letter {
  const target = describeTarget(one);
  const deliveries = `${publicUrl}/api/v1/Deliveries`;
  const calls = `calls to ${target.where}, ${target.what} of the application “${one.name}” (${one.rp})`;
  const said = fault && describeFault(fault);
  return writeLetter(disabledAt ? `Disabled: nothing more is sent to ${target.where}` : `Calls to ${target.where} have failed for a day`, [
    disabledAt
      ? `Schoolbell has stopped ${calls}, on ${formatInstant(disabledAt)}: ${disabledWhy ?? 'it was disabled'}.`
      : `Schoolbell repeats ${calls}, and all of them have failed since ${formatInstant(failingSince ?? new Date())}.`,
    ...(disabledAt && failingSince && failingSince < disabledAt ? [`It had failed since ${formatInstant(failingSince)}.`] : []),
    ...(said ? [`The last error, on ${formatInstant(fault.at)}: ${said}.`] : []),
    `To look at every attempt: GET ${deliveries} with a school or management token, and GET ${deliveries}/${one.id} for the latest one in full.`,
    ...(disabledAt ? ['To resume, when the receiver is well again:', `– ${target.resume(deliveries)}`] : [target.outlook]),
    'You get this mail because your address is the contact of the application.',
  ]);
}

type Target = { where: string; what: string; outlook: string; resume(deliveries: string): string };

const untilDisabled = 'As soon as it answers with 2xx all is well. After five days of nothing but failures it is disabled.';
const replaying = ({ id }: Failing, deliveries: string) => `POST ${deliveries}/${id}/Replay sends the latest call again`;

/** Where it goes to without the query, which is the application's own business; of a one-off address, which may name people, the host alone. */
function describeTarget(one: Failing): Target {
  // One that is never called, for what it looks like, fails as well, and is to be told of.
  const { host, pathname } = URL.parse(one.url) ?? { host: 'a URL that is none', pathname: '' };
  const where = `${host}${pathname}`;
  if (one.event === 'database' || one.event === 'test') {
    const id = one.key.slice(one.key.indexOf(' ') + 1);
    const test = (deliveries: string) => `POST ${deliveries.replace(/Deliveries$/, 'Webhook')}/${id}/Test with the school token, or register the URL again`;
    const resume = (deliveries: string) => `${test(deliveries)}; or ${replaying(one, deliveries)}`;
    return { where, what: `the registration ${id} at the school ${one.estab}`, outlook: untilDisabled, resume };
  }
  if (one.event === 'availability' || one.event === 'writeback') {
    const outlook = `Each call is given up after three days; ${replaying(one, '/api/v1/Deliveries')}.`;
    return { where: host, what: 'which came with single requests', outlook, resume: (deliveries) => replaying(one, deliveries) };
  }
  return { where, what: 'the callback URL', outlook: untilDisabled, resume: (deliveries) => replaying(one, deliveries) };
}

function formatInstant(at: Date): string {
  return `${new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(at)} UTC`;
}
