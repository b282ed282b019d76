// In charge of the page of the settings in force: variables without secrets, versions, addresses, processes, keys and how long
// what is kept; and of replacing the keys that sign.
import type { Seal } from '../../access/seal.ts';
import { sealedAs, type SealedAs } from '../../access/sealed-as.ts';
import { listTokenKeys, trustedAfterwardsHours, type KeyAge } from '../../access/token-keys.ts';
import { ConfigError, type Config } from '../../config.ts';
import { listVersionedProcesses, type VersionedProcess } from '../../db/service-versions.ts';
import { readServerFacts, type ServerFacts } from '../../db/server-facts.ts';
import type { Retained } from '../../describe-retention.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderBadge, type Badge } from '../../http/pages/badge.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { renderCheck } from '../../http/pages/field.ts';
import { formatMany } from '../../http/pages/figures.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { renderTable } from '../../http/pages/table.ts';
import { listProviderKeys } from '../../identity/oidc/keys.ts';
import { rotateSigningKeys } from '../../identity/rotate-keys.ts';
import { docsPath } from '../../reference/pages/links.ts';
import { pathOf, surfaces } from '../../reference/surfaces.ts';
import { dialects } from '../../rostering/dialects/all.ts';
import { listSettings, type Setting } from '../../settings.ts';
import { version } from '../../version.ts';
import { renderDoing } from '../doing.ts';
import { renderConsole } from '../layout.ts';
import { mayChange, type Action, type Page, type Visit } from '../visit.ts';
import { renderId } from './things.ts';

const path = '/console/settings';

export const settingsPage: Page = {
  path,
  async show({ db, config, seal, retained, now }, visit) {
    const [server, processes] = [await readServerFacts(db), await listVersionedProcesses(db)];
    const [tokens, provider] = [await listTokenKeys(db), await listProviderKeys(db)];
    const body = html`<h1>Settings</h1>
${renderVersions(server, now())}
${renderSettings(config)}
${renderKeys(visit, tokens, provider, now())}
${renderSealing(config, seal, [
  ...tokens.map(({ id, sealed }) => ({ sealed, as: sealedAs.tokenKey(id) })),
  ...provider.map(({ id, sealed }) => ({ sealed, as: sealedAs.providerKeys(id) })),
])}
${renderAddresses(config)}
${renderProcesses(processes, now())}
${renderRetained(retained)}`;
    return renderConsole(visit, { title: 'Settings', section: 'settings', body });
  },
};

export const rotateKeysAction: Action = {
  path: `${path}/rotate`,
  name: 'keys rotate',
  done: 'New keys sign from now on.',
  about: (_visit, form) => ({ detail: { now: form.one('now') === 'yes' } }),
  async run({ changes, seal }, _visit, form) {
    await rotateSigningKeys(changes, seal, { now: form.one('now') === 'yes' });
    return { to: path };
  },
};

function renderVersions({ postgres, newest, name, appliedAt, migrations }: ServerFacts, now: number): Html {
  return html`<section class="card"><h2>Versions</h2>
${renderFacts([
  ['Schoolbell', version],
  ['Node', process.version],
  ['PostgreSQL', postgres],
  ['Schema', html`migration ${String(newest)} (<code>${name}</code>), ${formatMany(migrations, 'migration')} in all, the last ${renderAgo(appliedAt, now)}`],
])}</section>`;
}

const sources: Readonly<Record<Setting['from'], Badge>> = {
  set: { badge: 'Set', tone: 'good' },
  default: { badge: 'Default', tone: 'off' },
  made: { badge: 'Made at the first start', tone: 'busy' },
};

function renderSettings(config: Config): Html {
  const table = renderTable({
    id: 'settings',
    caption: 'Of the process that shows this page; secrets are never shown',
    columns: ['Variable', 'Value', 'Where it comes from'],
    rows: listSettings(config).map(({ name, value, from }) => [html`<code>${name}</code>`, value, renderBadge(sources[from])]),
    stacked: true,
  });
  return html`<section><h2>Settings in force</h2>${table}</section>`;
}

function renderKeys(visit: Visit, tokens: readonly KeyAge[], provider: readonly KeyAge[], now: number): Html {
  const row = (of: string) => ({ id, created, until }: KeyAge) => [
    of,
    renderId(id),
    renderBadge(until === null ? { badge: 'Signs', tone: 'good' } : { badge: 'Only verifies', tone: 'off' }),
    renderAgo(created, now),
    until === null ? 'until it is replaced' : renderAgo(until, now),
  ];
  const table = renderTable({
    id: 'keys',
    caption: 'Keys that sign, sealed in the database',
    columns: ['Of', 'Id', 'State', 'Made', 'Counts'],
    rows: [...tokens.map(row('Tokens')), ...provider.map(row('Single sign-on'))],
    stacked: true,
  });
  return html`<section><h2>Keys</h2>${table}${renderRotate(visit)}</section>`;
}

function renderRotate(visit: Visit): HtmlValue {
  if (!mayChange(visit)) return html`<p class="quiet">An admin can replace them.</p>`;
  const body = html`<p>New keys sign at once, in every process. What the old ones signed stays valid until it expires,
${String(trustedAfterwardsHours)} hours at most.</p>
${renderCheck({
  name: 'now',
  label: 'Refuse what the old keys signed from now on',
  checked: false,
  hint: 'For keys that somebody else may have. Every application has to obtain a new token, and everybody has to sign in again.',
})}`;
  const doing = renderDoing(visit, { path: `${path}/rotate`, id: 'rotate', label: 'Make new keys', body });
  return html`<details class="card"><summary>Replace the keys</summary>${doing}</details>`;
}

type EncryptedKey = Readonly<{ sealed: Uint8Array | null; as: SealedAs }>;

/** Looks at the signing keys only: they are few, and `keys reseal` encrypts them last. */
function renderSealing({ secretKeys }: Config, seal: Seal, keys: readonly EncryptedKey[]): Html {
  const many = secretKeys.length > 1;
  const older = many ? keys.filter(({ sealed, as }) => sealed !== null && isOlder(seal, sealed, as)).length : 0;
  const words = many
    ? html`<code>SECRET_KEY</code> has ${String(secretKeys.length)} keys: the first seals, and all of them open. ${
        older > 0
          ? html`${formatMany(older, 'key')} above ${older === 1 ? 'is' : 'are'} still sealed with an older one: run <code>keys reseal</code>.`
          : html`The keys above are sealed with the first. Run <code>keys reseal</code> until it says that any other may go, then take the others away.`
      }`
    : html`<code>SECRET_KEY</code> has one key, which seals everything. To change it, put the new one before it (<code>new,old</code>) in every process, and run
<code>keys reseal</code>.`;
  return html`<section class="card" id="sealing"><h2>Sealing</h2>
<p>${many && renderBadge(older > 0 ? { badge: 'Being changed', tone: 'wait' } : { badge: 'Nearly changed', tone: 'busy' })} ${words}</p></section>`;
}

function isOlder(seal: Seal, sealed: Uint8Array, as: SealedAs): boolean {
  try {
    return seal.reseal(sealed, as) !== undefined;
  } catch (error) {
    if (error instanceof ConfigError) return true;
    throw error;
  }
}

const metricsOf = (host: string, port: number) => `http://${host.includes(':') ? `[${host}]` : host}:${port}/metrics`;

function renderAddresses({ publicUrl, metricsPort, host }: Config): Html {
  const at = (way: string): Html => html`<a href="${publicUrl}${way}">${publicUrl}${way}</a>`;
  const root = (way: string): Html => html`<span class="id">${publicUrl}${way}</span>`;
  return html`<section class="card"><h2>Addresses</h2>
${renderFacts([
  ...dialects.map(({ title, root: way }) => [`Rostering, ${title}`, root(way)] as const),
  ['School data', root('/api/v1')],
  ['Tokens of schools', root('/api/oauth/GetToken')],
  ['Single sign-on', at('/oidc/.well-known/openid-configuration')],
  ['Reference', at(docsPath)],
  ['Descriptions', html`${surfaces.map(({ name }, index) => html`${index > 0 && ', '}${at(pathOf(name))}`)}`],
  ['Pages of schools', at('/school')],
  ['Sign-in', at('/login')],
  ['Health', html`${at('/healthz')}, ${at('/readyz')}`],
  ['Metrics', metricsPort === undefined ? html`<span class="quiet">none: <code>METRICS_PORT</code> is not set</span>` : metricsOf(host, metricsPort)],
])}</section>`;
}

function renderProcesses(processes: readonly VersionedProcess[], now: number): Html {
  const table = renderTable({
    id: 'processes',
    caption: 'That serve or work, with their connections to the database',
    columns: ['Process', 'Where', 'Version', 'Does', { label: 'Connections', number: true }, 'Since'],
    rows: processes.map(({ pid, host, address, version: of, does, connections, since, isThis }) => [
      html`${String(pid)}${isThis && ' (this one)'}`,
      host ?? address ?? 'the machine of the database',
      of,
      does.join(', '),
      String(connections),
      renderAgo(since, now),
    ]),
    stacked: true,
  });
  return html`<section><h2>Processes</h2>${table}</section>`;
}

/** Names of settings and commands stand in backticks. */
const withCode = (text: string): HtmlValue => text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part));

function renderRetained(retained: readonly Retained[]): Html {
  const table = renderTable({
    id: 'retention',
    caption: 'With the periods in force',
    columns: ['What', 'How long', 'When its person is purged', 'Who can ask for less'],
    rows: retained.map(({ what, howLong, purged, less }) => [withCode(what), withCode(howLong), withCode(purged), withCode(less)]),
    stacked: true,
  });
  return html`<section><h2>Retention</h2>${table}</section>`;
}
