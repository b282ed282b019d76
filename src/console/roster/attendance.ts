// In charge of the page of a pupil's marks, month by month: what each means, when it came, and who wrote it.
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { formatLedgerDay } from '../../http/pages/figures.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { addressOf } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { readPupilMarks, type EarlierMark, type MarkAuthor, type MarksOfMonth, type PupilMark } from '../../schooldata/pupil-marks.ts';
import { localDate } from '../../schooldata/school-day.ts';
import { renderConsole } from '../layout.ts';
import { applicationLink } from '../links.ts';
import type { Page } from '../visit.ts';
import { backToRoster, recordRoute, renderHead, requireSubject, viewPath } from './around.ts';
import { noteLookAt } from './record.ts';

export const attendancePage: Page = {
  path: `${recordRoute}/attendance`,
  async show(parts, visit) {
    const subject = await requireSubject(parts, visit);
    const { school, resource, sourcedId } = subject;
    await noteLookAt(parts, visit, subject, { action: 'look at attendance' });
    const today = localDate(new Date(parts.now()), school.timeZone);
    const isPerson = resource.collection === 'users';
    const found = isPerson ? await readPupilMarks(parts.db, school.estab, sourcedId, visit.query.one('month'), today) : undefined;
    const body = html`${renderHead(subject, 'attendance')}
${found ? renderMonth(found, viewPath(subject, 'attendance'), parts.now()) : renderEmpty('Only pupils have marks.')}`;
    return renderConsole(visit, { title: `Attendance of ${subject.name}`, section: 'schools', back: backToRoster(school), body });
  },
};

const nameOfMonth = (month: string) => new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(new Date(`${month}-01`));

function renderMonth({ month, marks, earlier, later }: MarksOfMonth, path: string, now: number): Html {
  const to = (one: string | undefined, words: string) =>
    one !== undefined && html`<a href="${addressOf(path, { month: one })}">${words}: ${nameOfMonth(one)}</a>`;
  const ways = (earlier ?? later) !== undefined && html`<nav class="pager" aria-label="Months">${to(earlier, 'Earlier')}${to(later, 'Later')}</nav>`;
  const none = earlier === undefined && later === undefined
    ? 'There are no marks of this pupil. They come with the school’s packages, from its MIS, or from an application that writes them back.'
    : `There are no marks in ${nameOfMonth(month)}.`;
  return html`<h2>${nameOfMonth(month)}</h2>${ways}
${marks.length === 0 ? renderEmpty(none) : renderTable({
    id: 'marks',
    caption: `Marks of ${nameOfMonth(month)}`,
    columns: ['Day', 'Session', 'Mark', 'Meaning', { label: 'Minutes late', number: true }, 'Notes', 'Written', 'By'],
    rows: marks.map((mark) => renderMark(mark, now)),
    stacked: true,
  })}`;
}

function renderMark({ date, session, mark, meaning, minutesLate, notes, at, by, earlier }: PupilMark, now: number): HtmlValue[] {
  return [
    formatLedgerDay(date),
    session === 'AM' ? 'Morning' : 'Afternoon',
    mark === null ? html`<span class="quiet">taken back</span>` : html`<bdi><code>${mark}</code></bdi>`,
    mark === null ? '' : (meaning ?? html`<span class="quiet">not a code of England’s registers</span>`),
    minutesLate ?? '',
    html`<bdi>${notes}</bdi>`,
    html`${renderAgo(at, now, 'forgotten when')}${earlier.length > 0 && renderEarlier(earlier, `${date} ${session}`, now)}`,
    by === null ? html`<span class="quiet">the school’s source</span>` : renderAuthor(by),
  ];
}

function renderAuthor({ rp, name, reason, trackingId }: MarkAuthor): Html {
  return html`${applicationLink(rp, name ?? rp)}
${reason !== null && html`<br><bdi>${reason}</bdi>`}${trackingId !== null && html`<br><span class="id">${trackingId}</span>`}`;
}

function renderEarlier(earlier: readonly EarlierMark[], of: string, now: number): Html {
  const items = earlier.map(({ mark, minutesLate, notes, replacedAt }) => {
    const late = minutesLate !== null && ` ${minutesLate} min`;
    return html`<li><bdi><code>${mark}</code></bdi>${late} <bdi>${notes}</bdi> until ${renderAgo(replacedAt, now)}</li>`;
  });
  return html`<details><summary>Before<span class="unseen">: ${of}</span></summary><ul class="places">${items}</ul></details>`;
}
