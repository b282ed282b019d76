// In charge of the command that shows what was done: decisions on applications, identity operations, erasures.
import { listErasures } from '../access/erasures.ts';
import { SchoolbellError } from '../errors.ts';
import { optionalText, type Command } from './command.ts';
import { renderTable } from './table.ts';

const listed = 500;
/** As far back as anything is kept. */
const ever = new Date(0);

type Entry = { at: Date; kind: 'decision' | 'identity' | 'erasure'; what: string; by: string | null; estab: string | null; rp: string | null; detail: string };
type Decision = { at: Date; estab: string; rp: string; state: string; actor: string; scopes: string[] | null };
type Operation = { at: Date; estab: string; rp: string | null; operation: string; outcome: string; presenceId: string | null };

export const auditCommands: readonly Command[] = [
  {
    name: 'audit',
    help: `Shows what was done, newest first, ${listed} at most: decisions on applications, identity operations and sign-ins, erasures.`,
    options: { since: { value: '<time>', help: 'for example 2026-11-01 or 2026-11-01T08:00:00Z' } },
    async run({ db }, given) {
      const since = parseSince(optionalText(given, 'since'));
      const decisions = await db<Decision[]>`
        select at, estab, rp, state, actor, scopes from authorisation_event where at >= ${since}
        union all select at, estab, rp, state, actor, scopes from past_decision where at >= ${since} order by at desc limit ${listed}`;
      const operations = await db<Operation[]>`
        select at, estab, rp, operation, outcome, presence_id as "presenceId" from identity_audit where at >= ${since} order by at desc limit ${listed}`;
      const erasures = await listErasures(db, since, listed);
      const all: Entry[] = [
        ...decisions.map(({ at, estab, rp, state, actor, scopes }): Entry => ({
          at,
          kind: 'decision',
          what: state,
          by: actor,
          estab,
          rp,
          detail: scopes?.join(', ') ?? '',
        })),
        ...operations.map(({ at, estab, rp, operation, outcome, presenceId }): Entry => ({
          at,
          kind: 'identity',
          what: operation,
          by: rp === null ? 'person' : 'application',
          estab,
          rp,
          detail: `${outcome} ${presenceId ?? ''}`.trim(),
        })),
        ...erasures.map(({ at, what, counts }): Entry => ({
          at,
          kind: 'erasure',
          what: `${what} removed`,
          by: 'operator',
          estab: null,
          rp: null,
          detail: Object.entries(counts).map(([words, count]) => `${count} ${words}`).join(', '),
        })),
      ];
      const data = all.toSorted((one, other) => other.at.getTime() - one.at.getTime()).slice(0, listed);
      return {
        data,
        lines: renderTable(
          data,
          [
            { title: 'At', of: (one) => one.at },
            { title: 'Kind', of: (one) => one.kind },
            { title: 'What', of: (one) => one.what },
            { title: 'By', of: (one) => one.by },
            { title: 'Estab', of: (one) => one.estab },
            { title: 'Application', of: (one) => one.rp },
            { title: 'Detail', of: (one) => one.detail },
          ],
          'nothing was done',
        ),
      };
    },
  },
];

function parseSince(text: string | undefined): Date {
  if (text === undefined) return ever;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) throw new SchoolbellError('invalid_request', `--since "${text}": not a time such as 2026-11-01 or 2026-11-01T08:00:00Z`);
  return at;
}
