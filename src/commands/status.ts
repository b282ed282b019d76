// In charge of the command that says how things stand, what needs a person, and whether the service may go live.
import { shownState } from '../access/authorisations.ts';
import { readNodeLoads } from '../db/node-load.ts';
import { checkLive } from '../needs/check-live.ts';
import type { Finding } from '../needs/finding.ts';
import { findNeeds, needKinds, type NeedKind, type NeedsOfKind } from '../needs/needs.ts';
import type { Command, Context, Outcome } from './command.ts';
import { renderTable, type Column } from './table.ts';

type School = { estab: string; name: string; version: number; lastChanged: Date | null; lastImport: string | null; lastImportAt: Date | null; records: number };

export const statusCommands: readonly Command[] = [
  {
    name: 'status',
    effect: 'reads',
    help: 'Shows what needs a person, the database and, for each school, its roster, its last import and who may read it.',
    options: {
      check: {
        value: undefined,
        help: 'before going live: address, mail, clock, disk, database, its nodes, keys, what needs a person, each with what is to be done',
      },
    },
    run: (context, given) => (given.options.check === true ? runChecks(context) : showStatus(context)),
  },
];

async function runChecks(context: Context): Promise<Outcome> {
  const [live, needs] = [await checkLive(context), await findNeeds(context)];
  const checks = [...live, ...needKinds.flatMap((kind) => (kind === 'service' ? [] : [judgeNeeds(kind, needs)]))];
  const failing = checks.filter(({ verdict }) => verdict === 'fail');
  return {
    data: { ok: failing.length === 0, checks },
    lines: renderTable(
      checks,
      [
        { title: 'Check', of: ({ check }) => check },
        { title: 'Verdict', of: ({ verdict }) => verdict },
        { title: 'Found', of: ({ found }) => found },
        { title: 'What to do', of: ({ todo }) => todo },
      ],
      'nothing is checked',
    ),
    ...(failing.length > 0 ? { failed: `not ready to go live: ${failing.map(({ check }) => check).join(', ')}` } : {}),
  };
}

const kindNames: Readonly<Record<Exclude<NeedKind, 'service'>, string>> = {
  held: 'held imports',
  failing: 'failing schools',
  stale: 'stale schools',
  target: 'failing targets',
  callback: 'callback URLs',
  proposal: 'schools to confirm',
  unsent: 'unsent invitations',
  invitation: 'unanswered invitations',
  mail: 'failing mails',
};

/** A service may go live with what waits for a person; it is no reason to end with 1. */
function judgeNeeds(kind: Exclude<NeedKind, 'service'>, all: readonly NeedsOfKind[]): Finding {
  const { needs, more } = all.find((one) => one.kind === kind) ?? { needs: [], more: false };
  const check = kindNames[kind];
  if (needs.length === 0) return { check, verdict: 'ok', found: 'none', todo: null };
  const found = `${needs.map(({ what }) => what).join('; ')}${more ? '; and more' : ''}`;
  return { check, verdict: 'warn', found, todo: needs[0]?.todo ?? null };
}

async function showStatus({ db, config }: Context): Promise<Outcome> {
  const needs = await findNeeds({ db, config });
  const [server] = await db<{ version: string; migration: number; bytes: number }[]>`
    select current_setting('server_version') as version, (select max(version) from migration) as migration,
      pg_database_size(current_database())::float8 as bytes`;
  const schools = await db<School[]>`
    select e.estab, e.name, r.version, r.instant as "lastChanged", i.outcome as "lastImport", i.finished_at as "lastImportAt", r.records
    from establishment e join roster_standing r using (estab)
    left join lateral (select outcome, finished_at from import_end i where i.estab = e.estab order by started_at desc limit 1) i on true
    order by e.estab`;
  const databases = await db<{ estab: string; name: string; status: string; updatedAt: Date | null; rowCount: number; message: string | null }[]>`
    select estab, name, case when refreshing_since is null then status when progress is null then 'Updating'
      else 'Updating ' || round((progress * 100)::numeric) || ' %' end as status, updated_at as "updatedAt", row_count as "rowCount", message
        from component_database order by estab, name`;
  const authorisations = await db<{ estab: string; rp: string; state: string; scopes: string[] }[]>`
    select a.estab, a.rp, ${shownState(db)} as state, a.scopes from authorisation a join establishment e using (estab)
    union all select i.estab, i.rp, i.state, i.required_scopes || i.optional_scopes from invitation i where i.state in ('Proposed', 'Invited')
      and not exists (select from authorisation a where a.estab = i.estab and a.rp = i.rp)
    order by 1, 2`;
  const nodes = await readNodeLoads(db);
  const database = {
    postgres: server?.version ?? '',
    migration: server?.migration ?? 0,
    bytes: server?.bytes ?? 0,
    embedded: config.databaseUrls === undefined,
  };
  return {
    data: { needs, database, nodes, schools, databases, authorisations },
    lines: [
      ...renderTable(
        needs.flatMap((one) => [...one.needs, ...(one.more ? [{ what: '… and more', since: null, todo: '' }] : [])]),
        [
          { title: 'Needs a person', of: (one) => one.what, most: 100 },
          { title: 'Since', of: (one) => one.since },
          { title: 'What to do', of: (one) => one.todo },
        ],
        'nothing needs a person now',
      ),
      '',
      `PostgreSQL ${database.postgres}, migration ${database.migration}, ${Math.round(database.bytes / 1024 ** 2)} MB`,
      ...section(
        nodes,
        [
          { title: 'Node', of: (one) => one.node },
          { title: 'Is', of: (one) => `${one.coordinator ? 'the coordinator' : 'for schools'}${one.answers ? '' : ', does not answer'}` },
          { title: 'Schools', of: (one) => one.schools, right: true },
          { title: 'MB', of: (one) => one.bytes === null ? null : Math.round(one.bytes / 1024 ** 2), right: true },
        ],
      ),
      '',
      ...renderTable(
        schools,
        [
          { title: 'Estab', of: (one) => one.estab },
          { title: 'Name', of: (one) => one.name, most: 40 },
          { title: 'Records', of: (one) => one.records, right: true },
          { title: 'Version', of: (one) => one.version, right: true },
          { title: 'Last changed', of: (one) => one.lastChanged ?? 'never' },
          { title: 'Last import', of: (one) => one.lastImport ?? 'none' },
          { title: 'At', of: (one) => one.lastImportAt },
        ],
        'no schools yet; add one with: school add',
      ),
      ...section(
        databases,
        [
          { title: 'Estab', of: (one) => one.estab },
          { title: 'Database', of: (one) => one.name },
          { title: 'Status', of: (one) => one.status },
          { title: 'Rows', of: (one) => one.rowCount, right: true },
          { title: 'Last collected', of: (one) => one.updatedAt ?? 'never' },
          { title: 'Message', of: (one) => one.message },
        ],
      ),
      ...section(
        authorisations,
        [
          { title: 'Estab', of: (one) => one.estab },
          { title: 'Application', of: (one) => one.rp },
          { title: 'State', of: (one) => one.state },
          { title: 'Scopes', of: (one) => one.scopes.join(', ') },
        ],
      ),
    ],
  };
}

/** Below what stands before it; nothing, where there is nothing. */
function section<Row>(rows: readonly Row[], columns: readonly Column<NoInfer<Row>>[]): string[] {
  return rows.length === 0 ? [] : ['', ...renderTable(rows, columns, '')];
}
