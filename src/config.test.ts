// The settings: every default, what each refuses, and that all problems are told at once, by name, without secrets.
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { ConfigError, readConfig, type Config } from './config.ts';

const database = 'postgres://schoolbell:hunter22@db.example/schoolbell';
const key = 'k'.repeat(32);

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    assert.equal(error.message, error.problems.join('\n'));
    return error.problems;
  }
  return [];
}

const named = (env: Record<string, string>) => problemsOf(env).map((problem) => problem.split(':', 1)[0]);

test('defaults', () => {
  const expected: Config = {
    host: '127.0.0.1',
    port: 8080,
    publicUrl: 'http://127.0.0.1:8080',
    trustProxy: [],
    dataDir: resolve('./data'),
    databaseUrls: undefined,
    databaseReadUrls: undefined,
    secretKeys: [],
    role: 'all',
    demo: true,
    rateLimitPerMinute: 1200,
    outboundAllow: ['127.0.0.0/8', '::1/128'],
    answersFrom: ['127.0.0.0/8', '::1/128'],
    mail: undefined,
    metricsPort: undefined,
    adminPassword: undefined,
    backupPassphrase: undefined,
    sourceClientSecret: undefined,
    purgeAfterDays: 90,
    shrinkLimitPercent: 20,
    listCacheMb: 4096,
    logLevel: 'info',
    given: [],
  };
  assert.deepEqual(readConfig({}), expected);
  const blank = Object.fromEntries(
    [
      'HOST', 'PORT', 'PUBLIC_URL', 'TRUST_PROXY', 'DATA_DIR', 'DATABASE_URL', 'SECRET_KEY', 'ROLE', 'DEMO', 'RATE_LIMIT_PER_MINUTE',
      'ADMIN_PASSWORD', 'PURGE_AFTER_DAYS', 'SHRINK_LIMIT_PERCENT', 'LOG_LEVEL',
    ].map((name) => [name, ' ']),
  );
  assert.deepEqual(readConfig(blank), expected, 'blank is as good as not given');
});

test('the settings cannot be changed once read', () => {
  const config = readConfig({}) as { port: number };
  assert.throws(() => {
    config.port = 1;
  }, TypeError);
});

const taken: readonly [env: Record<string, string>, expected: Partial<Config>][] = [
  [{ HOST: '0.0.0.0', PORT: '1' }, { host: '0.0.0.0', port: 1, publicUrl: 'http://0.0.0.0:1' }],
  [{ PORT: '65535' }, { port: 65535, publicUrl: 'http://127.0.0.1:65535' }],
  [{ PORT: ' 9000 ' }, { port: 9000 }],
  [{ HOST: '::1' }, { host: '::1', publicUrl: 'http://[::1]:8080' }],
  [{ HOST: 'schoolbell.example' }, { host: 'schoolbell.example' }],
  [{ PUBLIC_URL: 'https://bell.example' }, { publicUrl: 'https://bell.example' }],
  [{ PUBLIC_URL: 'https://bell.example/' }, { publicUrl: 'https://bell.example' }],
  [{ TRUST_PROXY: '10.0.0.0/8' }, { trustProxy: ['10.0.0.0/8'] }],
  [{ TRUST_PROXY: '10.0.0.0/8, ::1 ,fd00::/8,192.0.2.1,' }, { trustProxy: ['10.0.0.0/8', '::1', 'fd00::/8', '192.0.2.1'] }],
  [{ DATA_DIR: '/srv/bell' }, { dataDir: '/srv/bell' }],
  [{ DATA_DIR: 'bell' }, { dataDir: resolve('bell') }],
  [{ DATABASE_URL: database, SECRET_KEY: key }, { databaseUrls: [database], secretKeys: [key], demo: false }],
  [
    { DATABASE_URL: database, SECRET_KEY: key, DATABASE_READ_URL: 'postgres://u:p@one:5432,two/x' },
    { databaseReadUrls: ['postgres://u:p@one:5432/x', 'postgres://u:p@two/x'] },
  ],
  [
    { DATABASE_URL: 'postgres://u:p@ss@one,[::1]:5433/x?sslmode=require&options=a@b', SECRET_KEY: key },
    { databaseUrls: ['postgres://u:p@ss@one/x?sslmode=require&options=a@b', 'postgres://u:p@ss@[::1]:5433/x?sslmode=require&options=a@b'] },
  ],
  [{ DATABASE_URL: database.replace('postgres:', 'postgresql:'), SECRET_KEY: key }, { databaseUrls: [database.replace('postgres:', 'postgresql:')] }],
  [{ SECRET_KEY: key }, { secretKeys: [key], demo: true }],
  [{ SECRET_KEY: ` ${'n'.repeat(32)} , ${key} ` }, { secretKeys: ['n'.repeat(32), key] }],
  [{ ADMIN_PASSWORD: ' twelve letters ' }, { adminPassword: ' twelve letters ' }],
  [{ ROLE: 'api' }, { role: 'api' }],
  [{ ROLE: 'worker' }, { role: 'worker' }],
  [{ RATE_LIMIT_PER_MINUTE: '0' }, { rateLimitPerMinute: 0 }],
  [{ RATE_LIMIT_PER_MINUTE: '60' }, { rateLimitPerMinute: 60 }],
  [{ PURGE_AFTER_DAYS: '365' }, { purgeAfterDays: 365 }],
  [{ SHRINK_LIMIT_PERCENT: '0' }, { shrinkLimitPercent: 0 }],
  [{ SHRINK_LIMIT_PERCENT: '100' }, { shrinkLimitPercent: 100 }],
  [{ LOG_LEVEL: 'debug' }, { logLevel: 'debug' }],
  [{ LOG_LEVEL: 'silent' }, { logLevel: 'silent' }],
];
for (const [env, expected] of taken) {
  test(`takes ${JSON.stringify(env)}`, () => {
    const config = readConfig(env);
    for (const [name, value] of Object.entries(expected)) assert.deepEqual(config[name as keyof Config], value, name);
  });
}

const refused: readonly [name: string, values: readonly string[], says: RegExp][] = [
  ['HOST', ['not a host', 'http://127.0.0.1', '127.0.0.1:8080'], /host|address/i],
  ['PORT', ['0', '65536', '-1', '80.5', '1e3', '0x50', 'http', '8080x', '99999999999999999999'], /whole number from 1 to 65535/],
  ['PUBLIC_URL', ['bell.example', 'ftp://bell.example', 'http://', '//bell.example'], /http:\/\/ or https:\/\//],
  ['PUBLIC_URL', ['https://bell.example/rosters', 'https://bell.example/a/'], /must not have a path .*host name of its own/],
  ['PUBLIC_URL', ['https://bell.example/?a=1', 'https://bell.example/#top'], /query or a fragment/],
  ['PUBLIC_URL', ['https://me:letmein@bell.example/', 'https://me@bell.example'], /user or password/],
  [
    'TRUST_PROXY',
    ['proxy.example', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0/8', '::/129', '10.0.0.0/-1', '10.0.0.0/8, nonsense', '*', 'true'],
    /CIDR.*10\.0\.0\.0\/8/,
  ],
  ['DATABASE_READ_URL', ['mysql://db.example/x', 'db.example', database], /postgres:\/\/|which is not set/],
  ['DATABASE_URL', ['mysql://db.example/x', 'db.example', '/var/run/postgresql'], /postgres:\/\//],
  ['SECRET_KEY', ['short', 'k'.repeat(31)], /^SECRET_KEY: needs at least 32/],
  ['SECRET_KEY', [`short,${key}`, `,${key}`], /key 1 of 2.* at least 32/],
  ['SECRET_KEY', [`${key},short`, `${key},`], /key 2 of 2.* at least 32/],
  ['SECRET_KEY', [`${key},${key}`], /key 2 of 2.* given before/],
  ['BACKUP_PASSPHRASE', ['short', 'eleven-sign'], /^BACKUP_PASSPHRASE: needs at least 12 characters/],
  ['ADMIN_PASSWORD', ['short', 'eleven-sign', '  eleven-sign  '], /^ADMIN_PASSWORD: needs at least 12 characters/],
  ['ADMIN_PASSWORD', ['a'.repeat(257), 'a password\nin two lines'], /more than 256 characters, nor line breaks/],
  ['ROLE', ['API', 'both', 'all,api'], /api, worker, all/],
  ['DEMO', ['yes', 'true', '1', 'ON'], /on, off/],
  ['RATE_LIMIT_PER_MINUTE', ['-1', '1.5', 'none', 'Infinity'], /whole number from 0/],
  ['PURGE_AFTER_DAYS', ['-1', '0.5', 'never'], /whole number/],
  ['SHRINK_LIMIT_PERCENT', ['101', '-1', '20%'], /whole number from 0 to 100/],
  ['LOG_LEVEL', ['loud', 'INFO'], /info/],
];
for (const [name, values, says] of refused) {
  for (const value of values) {
    test(`refuses ${name}=${value}`, () => {
      const problems = problemsOf({ SECRET_KEY: key, [name]: value });
      assert.deepEqual(problems.map((problem) => problem.split(':', 1)[0]), [name]);
      assert.match(problems[0] ?? '', says);
    });
  }
}

test('all problems are told at once', () => {
  const everything = {
    PORT: 'x', PUBLIC_URL: 'x', TRUST_PROXY: 'x,y', SECRET_KEY: 'x', ADMIN_PASSWORD: 'x', ROLE: 'x', DEMO: 'x', RATE_LIMIT_PER_MINUTE: 'x',
    PURGE_AFTER_DAYS: 'x', SHRINK_LIMIT_PERCENT: 'x', LOG_LEVEL: 'x',
  };
  assert.deepEqual(named({ ...everything, DATABASE_URL: 'x' }).toSorted(), [...Object.keys(everything), 'TRUST_PROXY', 'DATABASE_URL'].toSorted());
});

test('SECRET_KEY is required with DATABASE_URL', () => {
  assert.deepEqual(named({ DATABASE_URL: database }), ['SECRET_KEY']);
  assert.deepEqual(named({ DATABASE_URL: database, SECRET_KEY: '  ' }), ['SECRET_KEY']);
  assert.deepEqual(named({ DATABASE_URL: database, SECRET_KEY: 'short' }), ['SECRET_KEY']);
  assert.match(problemsOf({ DATABASE_URL: database })[0] ?? '', /required with DATABASE_URL/);
});

test('every key of SECRET_KEY that cannot be used is told of', () => {
  const problems = problemsOf({ SECRET_KEY: `short,${key},,${key}` });
  assert.deepEqual(problems.map((problem) => /key \d of 4/.exec(problem)?.[0]), ['key 1 of 4', 'key 3 of 4', 'key 4 of 4']);
});

test('that SECRET_KEY is missing is told together with a DATABASE_URL that cannot be read', () => {
  assert.deepEqual(named({ DATABASE_URL: 'mysql://db.example/x' }).toSorted(), ['DATABASE_URL', 'SECRET_KEY']);
});

test('problems do not repeat secrets', () => {
  const text = problemsOf({ SECRET_KEY: 'hush-hush', DATABASE_URL: 'mysql://root:hunter22@db.example/x', PUBLIC_URL: 'ftp://user:letmein@bell.example' }).join(
    '\n',
  );
  assert.doesNotMatch(text, /hush-hush|hunter22|letmein/);
});

test('the demo is on with the embedded database on a loopback address, else off', () => {
  const external = { DATABASE_URL: database, SECRET_KEY: key };
  const cases: [env: Record<string, string>, demo: boolean][] = [
    [{}, true],
    [{ HOST: 'localhost' }, true],
    [{ HOST: '127.0.0.53' }, true],
    [{ HOST: '::1' }, true],
    [{ HOST: '0.0.0.0' }, false],
    [{ HOST: '::' }, false],
    [{ HOST: '192.0.2.1' }, false],
    [{ HOST: '127.example.com' }, false],
    [external, false],
    [{ ...external, HOST: 'localhost' }, false],
    [{ HOST: '0.0.0.0', DEMO: 'on' }, true],
    [{ ...external, DEMO: 'on' }, true],
    [{ DEMO: 'off' }, false],
  ];
  for (const [env, demo] of cases) assert.equal(readConfig(env).demo, demo, JSON.stringify(env));
  assert.deepEqual(readConfig({ DEMO: 'off', OUTBOUND_ALLOW: '10.0.0.0/8' }).answersFrom, [], 'what may be called is not what may be read');
  assert.deepEqual(readConfig({ OUTBOUND_ALLOW: '10.0.0.0/8' }).answersFrom, ['127.0.0.0/8', '::1/128']);
});
