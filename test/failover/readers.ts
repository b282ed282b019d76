// In charge of what is read in a drill: pages, filters, records and whole lists in every dialect, school data and tokens. No answer is
// of an earlier version than one that was seen before it was asked for, and no list is short.
import { setTimeout as pause } from 'node:timers/promises';
import { kinds, type Answered, type AskBook } from './ask-book.ts';
import type { Caller, SchoolCaller } from './caller.ts';
import { numbered, numberIn, rosterSize } from './school.ts';
import type { Seen } from './seen.ts';

const pauseMs = 150;

export type Readers = { answered(): number; over: Promise<unknown> };

export function startReading(book: AskBook, caller: Caller, seenBy: ReadonlyMap<string, Seen>, over: AbortSignal): Readers {
  let answered = 0;
  const again = async (...steps: readonly (() => Promise<Answered>)[]) => {
    for (let at = 0; !over.aborted; at += 1, await pause(pauseMs)) if ((await steps[at % steps.length]?.())?.ok) answered += 1;
  };

  function readSchool(school: SchoolCaller, seen: Seen): Promise<unknown>[] {
    /** Read at one version, with all that there is. */
    const whole = async (list: keyof typeof rosterSize) => {
      const before = seen.before();
      const answer = await school.b(kinds.list, `/${list}`);
      if (answer.ok) seen.noteVersion(answer, before, 'a whole list');
      expectRecords(book, answer, list, rosterSize[list]);
      return answer;
    };
    const page = async () => {
      const before = seen.before();
      const answer = await school.b(kinds.page, '/users?limit=5&offset=7');
      if (answer.ok) seen.noteVersion(answer, before, 'a page');
      expectRecords(book, answer, 'users', 5);
      return answer;
    };
    const record = async () => {
      const before = seen.before();
      const answer = await school.b(kinds.record, `/users/${numbered}`);
      if (answer.ok) seen.note('number', numberIn((JSON.parse(answer.text) as { user: { givenName: string } }).user.givenName), before, 'a record');
      return answer;
    };
    return [
      again(page, () => school.b(kinds.filter, `/users?limit=5&filter=familyName~'a'&offset=${Math.floor(Math.random() * 20)}`)),
      again(record, () => school.s(kinds.schoolData, 'Students?pageSize=5')),
      again(() => whole('users'), () => whole('enrollments')),
      again(school.tokenB, school.schoolToken),
    ];
  }

  const ofAll = [
    again(() => caller.a(kinds.pageA, '/users?limit=5'), caller.tokenA),
    again(() => caller.a(kinds.listA, '/users'), () => caller.v12(kinds.page12, '/users?limit=5'), caller.alive),
  ];
  const ofEach = caller.schools.flatMap((school) => {
    const seen = seenBy.get(school.school.estab);
    return seen ? readSchool(school, seen) : [];
  });
  return { answered: () => answered, over: Promise.all([...ofAll, ...ofEach]) };
}

function expectRecords(book: AskBook, { ok, text }: Answered, key: string, count: number): void {
  if (!ok) return;
  const found = (JSON.parse(text) as Record<string, unknown[]>)[key]?.length;
  if (found !== count) book.fault('a list is short', `${found} of ${count} ${key}`);
}
