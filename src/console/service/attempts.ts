// In charge of the attempts that were made at a piece of work, the latest first.
import { html, type HtmlValue } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { renderTable } from '../../http/pages/table.ts';
import type { WorkAttempt } from '../../outbox/list-work.ts';
import { sayValue } from './things.ts';

const classes: Readonly<Record<string, string>> = {
  mis: 'at the source',
  smtp_unreachable: 'the mail server could not be reached',
  smtp_refused: 'the mail server refuses it for good',
  smtp_deferred: 'the mail server does not take it now',
  unexpected: 'on our side',
  slow: 'the database was too slow',
  unstorable: 'what became of it could not be stored',
  worker_lost: 'its process has ended',
  handed_back: 'its process has ended, and handed it to another',
  held_by_restore: 'held by the restore of a backup',
};

/** One of an older or newer version is said as it is. */
const describeClass = (errorClass: string | null) => classes[errorClass ?? ''] ?? errorClass;

/** What is left out (of which import, how that ended) stands elsewhere on the page. */
const details: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  message: sayValue,
  kept: (value) => (value === true ? 'It was kept: nothing is sent without SMTP_URL.' : undefined),
  response: (value) => `The mail server answered: ${sayValue(value)}`,
  status: (value) => `It ended as ${sayValue(value)}.`,
  database: () => undefined,
  import: () => undefined,
  outcome: () => undefined,
};

function sayDetail(detail: Readonly<Record<string, unknown>>): HtmlValue {
  const said = Object.entries(detail)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => (details[name] ?? ((other: unknown) => `${name}: ${sayValue(other)}`))(value))
    .filter((one) => one !== undefined);
  return html`${said.map((one) => html`<p>${one}</p>`)}`;
}

function renderOutcome(success: boolean, errorClass: string | null): HtmlValue {
  if (success) return renderBadge({ badge: 'Done', tone: 'good' });
  if (errorClass === 'waits_for_approval') return renderBadge({ badge: 'Import waits for approval', tone: 'wait' });
  return html`${renderBadge({ badge: 'Failed', tone: 'bad' })} <span class="quiet">${describeClass(errorClass)}</span>`;
}

export function renderAttempts(attempts: readonly WorkAttempt[], now: number): HtmlValue {
  if (attempts.length === 0) return html`<section><h2>Attempts</h2><p class="quiet">There was none yet.</p></section>`;
  const table = renderTable({
    id: 'attempts',
    caption: 'Newest first',
    columns: [{ label: 'Attempt', number: true }, 'When', 'Outcome', 'What was said', 'Tried again'],
    rows: attempts.map(({ number, at, success, errorClass, detail, next }) => [
      String(number),
      renderAgo(at, now),
      renderOutcome(success, errorClass),
      sayDetail(detail),
      next && renderAgo(next, now),
    ]),
    stacked: true,
  });
  return html`<section><h2>Attempts</h2>${table}</section>`;
}
