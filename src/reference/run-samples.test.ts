// Every sample of every operation is run, in its three languages, against the demo, and ends well, with a status that the operation
// describes. What TypeScript there is compiles.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { createAsking, type Ask, type Asking } from '../../test/ask-described.ts';
import { nameOf, readDocuments } from '../../test/described.ts';
import { asks as allAsks } from '../../test/example-asks.ts';
import { root } from '../../test/generate.ts';
import { keepLog } from '../../test/log-lines.ts';
import { findMissing, languages, runInBatch, useSamples, type Language, type Program } from '../../test/run-sample.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';
import { readConfig } from '../config.ts';
import { prepareDemo, type DemoCredentials } from '../demo.ts';
import { credentials } from './credentials.ts';
import { listOperations } from './document.ts';
import type { Value } from './quote.ts';
import { takeExamples, type Located, type SampleValues } from './sample-request.ts';
import { renderSamples } from './samples.ts';
import { receivers } from './webhook-samples.ts';

/** What nobody can run alone. */
const needsPerson: Readonly<Record<string, string>> = {
  signIn: 'a browser is sent there',
};

/** Of a token the example is enough: it has its secret from the environment. What is revoked was had just before. */
const { getToken: _enough, ...some } = allAsks;
const asks: typeof allAsks = {
  ...some,
  revokeSignInToken: async (asked) => {
    const { authorization = '' } = (await some['getSignedInUser']?.(asked)) ?? {};
    return { body: { token: authorization.replace('Bearer ', '') } };
  },
};
const log = keepLog();
const { app, db, databaseUrl, dataDir, seal } = await useService({ LOG_LEVEL: 'debug' }, { logTo: log });
const documents = Object.values(await readDocuments(app));
const all: Located[] = documents.flatMap((document) => listOperations(document.paths).map((one) => ({ ...one, document })));
/** Those of OneRoster 1.2 are those of variant B under another root: one of each kind is enough. */
const ofSecondEdition = ['getToken_1p2', 'getAllUsers_1p2', 'getUser_1p2', 'getClassesForStudent_1p2'];
const runnable = all.filter((one) => !(nameOf(one) in needsPerson) && (!nameOf(one).endsWith('_1p2') || ofSecondEdition.includes(nameOf(one))));
const samples = useSamples();
const missing = Object.fromEntries(await Promise.all(languages.map(async (language) => [language, await findMissing(language)] as const)));
let [asking, demo]: [Asking | undefined, DemoCredentials | undefined] = [undefined, undefined];
before(async () => {
  demo = await prepareDemo(db, seal, readConfig({ DATABASE_URL: databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: dataDir }));
  asking = createAsking(app, db, demo);
});

function variables(authorization = ''): Record<string, string> {
  const token = authorization.replace(/^Bearer /, '');
  assert.ok(demo);
  const { clientId, clientSecret, rp, estab, schoolSecret, managementSecret, signingSecret } = demo;
  return {
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
    RP: rp,
    ESTAB: estab,
    SCHOOL_SECRET: schoolSecret,
    MANAGEMENT_SECRET: managementSecret,
    SIGNING_SECRET: signingSecret,
    UPLOAD_TOKEN: token,
    ACCESS_TOKEN: token,
  };
}

/** As the description has it, but for what only the database knows. */
function valuesOf(located: Located, ask: Ask = {}): SampleValues {
  const values = takeExamples(located);
  const given = ask.parameters ?? {};
  const of = (place: string) => {
    const taken = (located.operation.parameters ?? []).filter((one) => one.in === place && one.name in given);
    return Object.fromEntries(taken.map(({ name }) => [name, given[name] ?? '']));
  };
  const body = ask.body === undefined || Buffer.isBuffer(ask.body) ? values.body : (ask.body as Value);
  return {
    path: { ...values.path, ...of('path') },
    query: { ...values.query, ...of('query') },
    headers: { ...values.headers, ...of('header') },
    ...(body === undefined && ask.body === undefined ? {} : { body: body ?? '' }),
    ...(ask.contentType === undefined ? {} : { contentType: ask.contentType }),
  };
}

async function programOf(located: Located, language: Language): Promise<Program & { env: Record<string, string> }> {
  assert.ok(asking);
  const ask = await asks[nameOf(located)]?.(asking);
  const text = renderSamples(located, valuesOf(located, ask))[language];
  const files: Record<string, Uint8Array> = Buffer.isBuffer(ask?.body) ? { 'roster.zip': ask.body } : {};
  return { name: nameOf(located), text, files, env: variables(ask?.authorization) };
}

const routeOf = (verb: string, path: string) => `${verb.toLowerCase()} ${path.replaceAll(/:(\w+)/g, '{$1}')}`;

/** What was asked since then, by its route: with which statuses it was answered. */
function readLog(since: number): Map<string, Set<string>> {
  const asked = new Map<string, Set<string>>();
  for (const { msg, method, route, status } of log.lines().slice(since)) {
    const what = routeOf(String(method), String(route));
    if (msg === 'request') asked.set(what, (asked.get(what) ?? new Set()).add(String(status)));
  }
  return asked;
}

for (const language of languages) {
  test(`every sample in ${language} ends well`, { skip: missing[language] ?? false }, async () => {
    const since = log.lines().length;
    const failed = new Map<string, string>();
    // Where something has to be there first, it is made just before.
    const [apart, together] = [runnable.filter((one) => nameOf(one) in asks), runnable.filter((one) => !(nameOf(one) in asks))];
    const programs = await Promise.all(together.map((one) => programOf(one, language)));
    for (const [name, told] of await runInBatch(samples.folder, language, programs, variables())) failed.set(name, told);
    for (const one of apart) {
      const { name, text, files = {}, env } = await programOf(one, language);
      const { code, err, out } = await samples.run(language, text, env, files);
      if (code !== 0) failed.set(name, `${code} ${err} ${out}`.slice(0, 2000));
    }
    assert.deepEqual([...failed], []);
    const silent = () => runnable.map(({ verb, path }) => routeOf(verb, path)).filter((route) => !readLog(since).has(route));
    await until('a line for each', () => silent().length === 0, silent);
    const asked = readLog(since);
    for (const { verb, path, operation } of runnable) {
      const well = Object.keys(operation.responses).filter((status) => status.startsWith('2'));
      // What was asked to make things ready may have been refused, on purpose; a sample was not, or it would have failed.
      const answered = [...(asked.get(routeOf(verb, path)) ?? [])].filter((status) => status.startsWith('2'));
      assert.ok(answered.length > 0, `${verb} ${path}`);
      assert.deepEqual(answered.filter((status) => !well.includes(status)), [], `${verb} ${path}`);
    }
  });
}

test('all TypeScript compiles, as strictly as can be', async () => {
  const folder = join(samples.folder, 'compiled');
  mkdirSync(folder);
  for (const one of all) writeFileSync(join(folder, `${nameOf(one)}.mts`), renderSamples(one, takeExamples(one)).typescript);
  writeFileSync(join(folder, 'receiver.mts'), receivers.typescript);
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noPropertyAccessFromIndexSignature: true };
  const types = { typeRoots: [join(root, 'node_modules', '@types')], types: ['node'], lib: ['es2023'] };
  const compilerOptions = { ...strict, ...types, noUnusedLocals: true, noEmit: true, module: 'nodenext', target: 'es2023', verbatimModuleSyntax: true };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.mts'] }));
  const said = await new Promise<string>((resolve) => {
    execFile(join(root, 'node_modules', '.bin', 'tsc'), ['-p', folder], (error, out, err) => resolve(error === null ? '' : `${out}${err}`));
  });
  assert.equal(said, '');
});

test('every way in which an operation is secured is known, but for a browser’s own', () => {
  const schemes = new Set(all.flatMap(({ operation: { security = [] } }) => security.flatMap((one) => Object.keys(one))));
  assert.deepEqual([...schemes].filter((name) => !(name in credentials)), [...schemes].filter((name) => name === 'signIn'));
});

test('no sample holds a secret', () => {
  const secret = /\b(?:sb_(?:school|mgmt|client|upload)|whsec)_/;
  for (const one of all) for (const text of Object.values(renderSamples(one, takeExamples(one)))) assert.doesNotMatch(text, secret, nameOf(one));
});
