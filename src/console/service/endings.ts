// In charge of what pages on durable work say of a collection that was read but not merged: that it was held or refused, what was
// decided about it, and the ways to that decision and to the report.
import { readDecisions, type Decided } from '../../collection/held.ts';
import { describeOutcome } from '../../collection/pages/import-words.ts';
import type { Sql } from '../../db/connect.ts';
import { findEnding } from '../../durable-work.ts';
import { html, type Html } from '../../http/html.ts';
import type { Badge } from '../../http/pages/badge.ts';
import type { Work } from '../../outbox/list-work.ts';
import { heldPath, importPath } from '../links.ts';

/** decided: nothing when its report is not kept any more. */
export type KnownEnding = Readonly<{ import: string; outcome: 'held' | 'refused'; decided: Decided | undefined }>;

/** By the id of the work; most pieces have none. */
export async function readEndings(sql: Sql, works: readonly Work[]): Promise<ReadonlyMap<string, KnownEnding>> {
  const found = works.flatMap((work) => {
    const ending = findEnding(work);
    return ending ? [{ work, ending }] : [];
  });
  const decided = new Map<string, Decided>();
  for (const [estab, of] of Map.groupBy(found, ({ work }) => work.estab))
    for (const one of await readDecisions(sql, estab, of.map(({ ending }) => ending.import))) decided.set(one.id, one);
  return new Map(found.map(({ work, ending }) => [work.id, { ...ending, decided: decided.get(ending.import) }]));
}

export function badgeOfEnding(ending: KnownEnding | undefined): Badge | undefined {
  if (!ending) return undefined;
  const nothingMore = { overtaken: false, rejected: 0, leaversUnreported: false };
  const { badge, tone } = describeOutcome({ outcome: ending.outcome, decision: ending.decided?.decision ?? null, ...nothingMore });
  return { badge, tone };
}

export function renderEnding(estab: string, { import: id, decided }: KnownEnding): Html {
  if (!decided) return html`<span class="quiet">its report is not kept any more</span>`;
  const report = html`<a href="${importPath(estab, id)}">the report</a>`;
  return decided.waits ? html`<a href="${heldPath(estab)}">See what would be deleted, and decide</a>, or read ${report}` : report;
}
