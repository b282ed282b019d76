// What stands in ops/ is about metrics that exist: a service is started and scraped, and every metric, label and value that
// the dashboard or an alert names has to be there.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSeal } from '../src/access/seal.ts';
import { setBackupPlan } from '../src/backup/plan.ts';
import { addEstablishment } from '../src/access/establishments.ts';
import { usePlainDatabase } from './database.ts';
import { readExposition, type Family } from './exposition.ts';
import { eventually, home, longest, repository, start, stop } from './processes.ts';
import { isBalanced, readExpression } from './promql.ts';
import { freePort } from './free-port.ts';
import { testSecretKey } from './service.ts';

/** What Prometheus adds. */
const added: readonly string[] = ['job', 'instance'];

type Target = { expr: string; legendFormat: string; datasource: { uid: string } };
type Panel = { id: number; type: string; title: string; gridPos: { x: number; y: number; w: number; h: number }; targets?: Target[] };
type Variable = { name: string; type: string; query: string | { query: string } };
type Dashboard = { uid: string; title: string; panels: Panel[]; templating: { list: Variable[] } };
type Rule = { alert: string; expr: string; texts: string[] };

const ops = (name: string) => readFileSync(join(repository, 'ops', name), 'utf8');
const dashboard = JSON.parse(ops('grafana-dashboard.json')) as Dashboard;
const targets = dashboard.panels.flatMap((panel) => (panel.targets ?? []).map((target) => ({ panel: panel.title, ...target })));
const rules = readRules(ops('alerts.yaml'));

const { db, url: databaseUrl } = await usePlainDatabase();

/** A service with something of everything that is matched by its value. */
async function scrape(role: 'all' | 'worker', exercise: (url: string) => Promise<void> = async () => {}): Promise<Map<string, Family>> {
  const port = await freePort();
  const env = { ROLE: role, METRICS_PORT: String(port), DATABASE_URL: databaseUrl, SECRET_KEY: testSecretKey, DEMO: 'off' };
  const running = await start(join(home, role), { env });
  try {
    await exercise(running.url);
    let families = new Map<string, Family>();
    await eventually('the database was counted', async () => {
      const response = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { connection: 'close' } });
      assert.equal(response.status, 200);
      families = readExposition(await response.text());
      return families.has('schoolbell_schools');
    });
    return families;
  } finally {
    await stop(running);
  }
}

async function fill(): Promise<void> {
  await addEstablishment(db, { estab: 'S1', name: 'S1', email: 'office@s1.example' });
  await db`insert into component_database (estab, name, status, updated_at, expires_at) values ('S1', 'SchoolData', 'OK', now(), now() + interval '1 day')`;
  await db`insert into import_run (estab, started_at, outcome, version, report, kind) values ('S1', now(), 'done', 1, '{}', 'upload')`;
  await db`insert into import_end (estab, id, started_at, finished_at, outcome) values ('S1', gen_random_uuid(), now(), now(), 'done')`;
  await db`insert into lane (key, width, lasting, disabled_at) values ('mail', 1, false, now())`;
  await db`
    insert into outbox (estab, id, kind, lane, payload, state, due_at, settled_at, attempts) values
      ('S1', '1', 'mail', 'mail', '{}', 'waiting', now() + interval '1 hour', null, 1), ('S1', '2', 'mail', 'mail', '{}', 'failed', now(), now(), 1)`;
  await setBackupPlan(db, createSeal([testSecretKey]), { folder: join(home, 'backups'), everySeconds: 86_400, keep: 1, passphrase: 'a', by: 'a' }, new Date());
  await db`insert into outbox_attempt (estab, id, number, success, error_class, detail) values ('S1', '1', 1, false, 'smtp_deferred', '{}')`;
}

test('every metric, label and value in the dashboard and the alerts exists', longest, async () => {
  await fill();
  const families = await scrape('all', async (url) => {
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
  });
  const known = describe(families);
  for (const { panel, expr, legendFormat } of targets) {
    const labels = requireKnown(panel, expr, known);
    for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) assert.ok(labels.has(label), `${panel}: the legend names ${label}`);
  }
  for (const { alert, expr, texts } of rules) {
    const labels = requireKnown(alert, expr, known);
    for (const [, label = ''] of texts.join(' ').matchAll(/\$labels\.(\w+)/g)) assert.ok(labels.has(label), `${alert}: a text names ${label}`);
  }
  for (const { name, query } of dashboard.templating.list.filter(({ type }) => type === 'query')) {
    const [, metric = ''] = /^label_values\((\w+), \w+\)$/.exec(typeof query === 'string' ? query : query.query) ?? [];
    assert.ok(known.has(metric), `$${name}: there is no ${metric}`);
  }
});

test('a process that only works is measured too', longest, async () => {
  const families = await scrape('worker');
  const [build] = families.get('schoolbell_build_info')?.series ?? [];
  assert.equal(build?.labels.role, 'worker');
  for (const name of ['schoolbell_event_loop_lag_seconds', 'schoolbell_database_pool_waiting', 'schoolbell_outbox_lag_seconds', 'schoolbell_schools'])
    assert.ok((families.get(name)?.series.length ?? 0) > 0, name);
});

test('the dashboard can be imported: a source to choose, and panels that do not lie over one another', () => {
  assert.equal(dashboard.templating.list.some(({ name, type }) => name === 'datasource' && type === 'datasource'), true);
  for (const { panel, datasource } of targets) assert.equal(datasource.uid, '${datasource}', panel);
  const { panels } = dashboard;
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`));
  assert.equal(new Set(cells).size, cells.length);
  for (const panel of panels) assert.ok(panel.gridPos.x + panel.gridPos.w <= 24, panel.title);
});

test('there is an alert for each thing that somebody has to know', () => {
  const used = rules.flatMap(({ expr }) => readExpression(expr).uses.map(({ metric }) => metric));
  const alarming = [
    'build_info', 'database_up', 'http_refusals_total', 'http_request_duration_seconds_bucket', 'schools_stale', 'schools_failing', 'schools_held',
    'outbox_lag_seconds', 'lanes', 'outbox_failing_rows', 'database_pool_refused_total', 'disk_free_bytes', 'event_loop_lag_seconds_bucket',
    'backup_age_seconds', 'backup_last_failed', 'backup_planned',
  ];
  for (const name of alarming) assert.ok(used.includes(`schoolbell_${name}`), name);
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
});

type Known = Map<string, { family: Family; labels: Map<string, Set<string>> }>;

/** Each name of a series, with the labels it has and their values. */
function describe(families: ReadonlyMap<string, Family>): Known {
  const known: Known = new Map();
  for (const family of families.values())
    for (const { name, labels } of family.series) {
      const one = known.get(name) ?? { family, labels: new Map<string, Set<string>>() };
      for (const [label, value] of Object.entries(labels)) one.labels.set(label, (one.labels.get(label) ?? new Set()).add(value));
      known.set(name, one);
    }
  return known;
}

/** Gives the labels that the result has. */
function requireKnown(where: string, expr: string, known: Known): Set<string> {
  assert.ok(isBalanced(expr), `${where}: parentheses`);
  const { uses, labels, counted, quantiles } = readExpression(expr);
  assert.ok(uses.length > 0, where);
  const all = new Set(added);
  for (const { metric, matchers } of uses) {
    const found = known.get(metric) ?? assert.fail(`${where}: there is no metric ${metric}`);
    for (const label of found.labels.keys()) all.add(label);
    for (const { label, values } of matchers.filter((matcher) => !added.includes(matcher.label))) {
      const there = found.labels.get(label) ?? assert.fail(`${where}: ${metric} has no label ${label}`);
      for (const value of values) assert.ok(there.has(value), `${where}: ${metric} has no ${label}="${value}"`);
    }
  }
  for (const label of labels) assert.ok(all.has(label), `${where}: nothing has the label ${label}`);
  for (const metric of counted) {
    const { family } = known.get(metric) ?? assert.fail(`${where}: ${metric}`);
    assert.ok(family.type !== 'gauge' && !family.help.includes('without rate()'), `${where}: ${metric} is no counter`);
  }
  if (quantiles > 0) assert.ok(labels.filter((label) => label === 'le').length >= quantiles, `${where}: a quantile is grouped by le`);
  return new Set(labels.length > 0 ? labels : all);
}

/** The part of YAML that the rules are written in; any other line is a fault. */
function readRules(text: string): Rule[] {
  const read: Rule[] = [];
  const shapes: readonly [RegExp, (rule: Rule | undefined, found: string) => void][] = [
    [/^(?:#.*|groups:| {2}- name: [a-z-]+| {4}rules:| {8}annotations:|)$/, () => {}],
    [/^ {6}- alert: (Schoolbell[A-Za-z]+)$/, (_, alert) => read.push({ alert, expr: '', texts: [] })],
    [/^ {8}expr: ([a-z(].*)$/, (rule, expr) => rule && (rule.expr = expr)],
    [/^ {8}for: \d+[mhd]$/, () => {}],
    [/^ {8}labels: \{ severity: (?:page|ticket) \}$/, () => {}],
    [/^ {10}(?:summary|description): ('[^']*'|"[^"\\]*"|[A-Z/].*)$/, (rule, words) => rule?.texts.push(words)],
  ];
  for (const line of text.trimEnd().split('\n')) {
    const found = shapes.map(([shape, keep]) => ({ match: shape.exec(line), keep })).find(({ match }) => match);
    assert.ok(found?.match, `not a line of rules: ${line}`);
    const [, value = ''] = found.match;
    assert.ok(/^['"]/.test(value) || !/: | #/.test(value), `needs quotes: ${line}`);
    found.keep(read.at(-1), value);
  }
  for (const { alert, expr, texts } of read) assert.ok(expr !== '' && texts.length === 2, alert);
  return read;
}
