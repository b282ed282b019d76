// What operators run it with, where no container engine is at hand: image, compose file, Kubernetes example and systemd unit are read and
// held to the settings that exist, to files that are there and to what they promise. The step of the image that packs is run by package.test.ts.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parseYaml } from '@redocly/openapi-core';
import { commands, standaloneCommands } from '../src/command-line.ts';
import { variables } from '../src/config.ts';
import { version } from '../src/version.ts';
import { last, listContext, textsOf } from './image.ts';

const root = join(import.meta.dirname, '..');
const home = mkdtempSync(join(tmpdir(), 'schoolbell-deployment-'));
after(() => rmSync(home, { recursive: true, force: true }));
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const isSetting = (name: string) => variables.some((one) => one === name);
const isSecret = (name: string) => /PASSWORD|PASSPHRASE|SECRET|DATABASE_URL|SMTP_URL/.test(name);
/** A clean end of the service takes up to 30 s. */
const cleanEndSeconds = 30;

// ---- The image -------------------------------------------------------------------------------------------------------

/** One that runs no shell. */
const execForm = (text: string) => JSON.parse(text) as string[];
const environment = Object.fromEntries(textsOf('ENV', last).flatMap((text) => [...text.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value]) => [name, value])));

test('the image is made in stages of one base, of what is there, and runs as an ordinary user without a shell', () => {
  const bases = textsOf('FROM').map((text) => text.split(' ', 1)[0]);
  assert.equal(new Set(bases).size, 1);
  assert.match(bases[0] ?? '', /^docker\.io\/library\/node:24-\w+-slim$/);
  const copied = textsOf('COPY').filter((text) => !text.startsWith('--from=')).flatMap((text) => text.split(' ').slice(0, -1));
  for (const source of copied) assert.ok(existsSync(join(root, source)), source);
  for (const top of listContext()) assert.ok(existsSync(join(root, top)), top);
  assert.equal(read('.dockerignore'), read('.containerignore'));
  assert.match(textsOf('USER', last)[0] ?? '', /^[1-9]\d*:[1-9]\d*$/);
  assert.deepEqual(execForm(textsOf('VOLUME', last)[0] ?? ''), [environment.DATA_DIR]);
  assert.deepEqual(textsOf('STOPSIGNAL', last), ['SIGTERM']);
  assert.deepEqual([execForm(textsOf('ENTRYPOINT', last)[0] ?? ''), execForm(textsOf('CMD', last)[0] ?? '')], [['schoolbell'], ['start']]);
  for (const name of Object.keys(environment)) assert.ok((isSetting(name) && !isSecret(name)) || name.startsWith('NODE_'), name);
});

test('its health check says whether the service can serve', async () => {
  let status = 200;
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(status).end();
  }).listen(0, '127.0.0.1');
  after(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const [program, ...args] = execForm(/CMD (\[.*\])$/.exec(textsOf('HEALTHCHECK', last)[0] ?? '')?.[1] ?? '');
  assert.equal(program, 'node');
  const check = (port: number) =>
    new Promise((resolve) => execFile(process.execPath, args, { env: { PORT: String(port) } }, (error) => resolve(error ? error.code : 0)));
  const { port } = server.address() as AddressInfo;
  assert.equal(await check(port), 0);
  status = 503;
  assert.deepEqual([await check(port), await check(1), asked], [1, 1, ['/readyz', '/readyz']]);
});

// ---- Compose ---------------------------------------------------------------------------------------------------------

type Service = {
  image: string; build?: { dockerfile: string }; environment: Record<string, string>; read_only: boolean; cap_drop: string[]; security_opt: string[];
  stop_grace_period: string; depends_on?: Record<string, { condition: string }>; ports?: string[]; volumes: string[]; healthcheck?: object; user?: string;
};
type Compose = { services: Record<string, Service>; volumes: object; networks: object };

/** What is merged by `<<` is there as if it had been written out. */
function merged<T>(value: T): T {
  if (Array.isArray(value)) return value.map(merged) as T;
  if (value === null || typeof value !== 'object') return value;
  const { '<<': shared, ...own } = value as Record<string, unknown>;
  return Object.fromEntries(Object.entries({ ...(shared as object | undefined), ...own }).map(([name, one]) => [name, merged(one)])) as T;
}

test('compose: every setting exists, secrets come from outside, and each container has no more than it needs', () => {
  const { services } = merged(parseYaml(read('compose.yaml')) as Compose);
  assert.deepEqual(Object.keys(services).toSorted(), ['api', 'database', 'worker']);
  for (const [name, service] of Object.entries(services)) {
    assert.match(service.image, /:[\w.-]+$/);
    assert.doesNotMatch(service.image, /:latest$/);
    assert.deepEqual([service.read_only, service.cap_drop, service.security_opt], [true, ['ALL'], ['no-new-privileges:true']], name);
    assert.ok(Number.parseInt(service.stop_grace_period, 10) > cleanEndSeconds, name);
    for (const port of service.ports ?? []) assert.match(port, /^127\.0\.0\.1:/);
    for (const [setting, value] of Object.entries(service.environment)) {
      if (name !== 'database') assert.ok(isSetting(setting), setting);
      if (isSecret(setting)) assert.match(value, /\$\{\w+:\?[^}]+\}/, `${setting} is taken from outside, and missed if it is not there`);
    }
  }
  const { api, worker, database } = services;
  for (const one of [api, worker]) {
    assert.equal(one?.image, `schoolbell:${version}`);
    assert.ok(existsSync(join(root, one?.build?.dockerfile ?? '')));
    assert.deepEqual(one?.depends_on, { database: { condition: 'service_healthy' } });
    assert.ok(one?.volumes.some((volume) => volume.endsWith(`:${environment.DATA_DIR}`)));
  }
  assert.deepEqual([api?.environment.ROLE, worker?.environment.ROLE, database?.user], ['api', 'worker', 'postgres']);
  assert.ok(database?.healthcheck);
  assert.match(read('.gitignore'), /^\.env$/m);
});

// ---- Kubernetes ------------------------------------------------------------------------------------------------------

type Probe = { httpGet: { path: string; port: string } };
type Container = {
  image: string; args?: string[]; env?: { name: string }[]; resources: { requests: object; limits: object }; ports?: { name: string; containerPort: number }[];
  securityContext: object; volumeMounts: { name: string; mountPath: string }[]; startupProbe: Probe; livenessProbe: Probe; readinessProbe: Probe;
};
type Pod = {
  terminationGracePeriodSeconds: number; securityContext: { runAsNonRoot: boolean; runAsUser: number }; containers: Container[]; volumes: { name: string }[];
};
type Manifest = {
  apiVersion: string; kind: string; metadata: { name: string }; data?: Record<string, string>; stringData?: Record<string, string>;
  spec?: { replicas?: number; selector?: { matchLabels?: object }; template?: { metadata: { labels: object }; spec: Pod } };
};

const manifests = globSync('ops/kubernetes/*.yaml', { cwd: root }).flatMap((file) => read(file).split(/^---$/m).map((text) => parseYaml(text) as Manifest));
const kinds = (kind: string) => manifests.filter((one) => one.kind === kind);

test('Kubernetes: every setting exists, and each pod runs as an ordinary user with nothing that it does not need', () => {
  const known = [...standaloneCommands, ...commands].map(({ name }) => name);
  for (const name of kinds('ConfigMap').flatMap(({ data }) => Object.keys(data ?? {}))) assert.ok(isSetting(name) && !isSecret(name), name);
  for (const [name, value] of kinds('Secret').flatMap(({ stringData }) => Object.entries(stringData ?? {}))) {
    assert.ok(isSetting(name) && isSecret(name), name);
    assert.match(value, /REPLACE-ME/, name);
  }
  const pods = manifests.filter(({ spec }) => spec?.template);
  assert.deepEqual(pods.map(({ kind }) => kind).toSorted(), ['Deployment', 'Deployment', 'Job']);
  for (const { metadata, spec } of pods) {
    const { spec: pod, metadata: of } = spec?.template ?? assert.fail();
    assert.ok(pod.terminationGracePeriodSeconds > cleanEndSeconds, metadata.name);
    assert.deepEqual([pod.securityContext.runAsNonRoot, String(pod.securityContext.runAsUser)], [true, textsOf('USER', last)[0]?.split(':')[0]]);
    if (spec?.selector) assert.deepEqual(spec.selector.matchLabels, of.labels);
    for (const one of pod.containers) {
      assert.equal(one.image, `registry.example/schoolbell:${version}`);
      assert.deepEqual(one.securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } });
      assert.ok(Object.keys(one.resources.requests).length > 1 && Object.keys(one.resources.limits).length > 0);
      assert.deepEqual(one.volumeMounts.map(({ mountPath }) => mountPath), [environment.DATA_DIR, '/tmp']);
      assert.deepEqual(one.volumeMounts.map(({ name }) => name), pod.volumes.map(({ name }) => name));
      for (const { name } of one.env ?? []) assert.ok(isSetting(name), name);
      if (one.args) assert.ok(known.includes(one.args[0] ?? ''), one.args[0]);
    }
  }
});

test('Kubernetes: the API runs twice behind a Service, with probes that ask what is answered', () => {
  for (const { spec } of kinds('Deployment')) {
    const [one] = spec?.template?.spec.containers ?? [];
    const paths = [one?.startupProbe, one?.livenessProbe, one?.readinessProbe].map((probe) => probe?.httpGet.path);
    assert.deepEqual(paths, ['/healthz', '/healthz', '/readyz']);
    assert.deepEqual(one?.ports?.map(({ containerPort }) => String(containerPort)), [environment.PORT, kinds('ConfigMap')[0]?.data?.METRICS_PORT]);
  }
  assert.equal(kinds('Deployment').find(({ metadata }) => metadata.name === 'schoolbell-api')?.spec?.replicas, 2);
  assert.equal(kinds('Service').length, 1);
});

// ---- systemd ---------------------------------------------------------------------------------------------------------

const unit = read('ops/schoolbell.service');
const settled = (name: string) => [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);

test('systemd: the unit names settings and files that exist, and leaves time for a clean end', () => {
  const given = [...read('ops/schoolbell.env.example').matchAll(/^#?([A-Z_]+)=(.*)$/gm)].map(([line, name = '']) => ({ line, name }));
  assert.ok(given.length > 5);
  for (const { line, name } of given) {
    assert.ok(isSetting(name), name);
    assert.ok(!isSecret(name) || line.startsWith('#'), `${name} is an example`);
  }
  for (const [, file = ''] of unit.matchAll(/node_modules\/schoolbell\/(\S+)/g)) assert.ok(existsSync(join(root, file)), file);
  assert.ok(Number(settled('TimeoutStopSec')[0]) > cleanEndSeconds);
  assert.deepEqual([settled('MemoryDenyWriteExecute'), settled('KillMode')], [[], ['mixed']], 'V8 compiles at run time; PostgreSQL is ended by the service');
  assert.match(settled('Environment')[0] ?? '', /^DATA_DIR=\/var\/lib\/schoolbell /);
});

const analyse = (...args: string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' });
const release = Number(/^systemd (\d+)/.exec(analyse('--version').stdout ?? '')?.[1] ?? 0);
const noSystemd = release >= 250 ? false : 'needs systemd-analyze of systemd 250 or newer';

test('systemd: the unit is well formed and exposes little', { skip: noSystemd }, (t) => {
  const security = analyse('security', '--offline=true', '--threshold=30', join(root, 'ops/schoolbell.service'));
  t.diagnostic(/Overall exposure level.*: ([\d.]+)/.exec(security.stdout)?.[1] ?? security.stdout);
  assert.equal(security.status, 0, security.stdout);
  const copy = join(home, 'schoolbell.service');
  writeFileSync(copy, unit.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
  const { status, stderr } = analyse('verify', '--man=no', copy);
  assert.deepEqual([status, stderr], [0, '']);
});
