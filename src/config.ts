// In charge of the settings: the environment is read here and nowhere else, checked at start, and every
// problem is reported at once with the variable's name.
import { isIP } from 'node:net';
import { resolve } from 'node:path';

export type Role = 'api' | 'worker' | 'all';

export type Config = Readonly<{
  host: string;
  port: number;
  /** Used in every link, href and Link header; never ends with a slash. */
  publicUrl: string;
  /** CIDR list of proxies whose X-Forwarded-* headers count. */
  trustProxy: readonly string[];
  dataDir: string;
  /** An external PostgreSQL, the same address for each of its hosts; undefined means the embedded one. */
  databaseUrls: readonly string[] | undefined;
  /** Replicas of it for what only reads; undefined means that there are none. */
  databaseReadUrls: readonly string[] | undefined;
  /** The first seals, any opens; none means: made in the data directory on first start. */
  secretKeys: readonly string[];
  role: Role;
  demo: boolean;
  /** Requests a minute for one credential; 0 switches the limit off. */
  rateLimitPerMinute: number;
  /** CIDR list of addresses that are not public but may be called. */
  outboundAllow: readonly string[];
  /** CIDR list of addresses that are not public but whose answers applications may see. */
  answersFrom: readonly string[];
  /** Undefined: mails are kept and can be read. */
  mail: Readonly<{ smtpUrl: string; from: string }> | undefined;
  /** A second listener on the same host, for metrics alone. */
  metricsPort: number | undefined;
  /** Encrypts backups, and opens them; undefined: whoever writes one names a file that holds it. */
  backupPassphrase: string | undefined;
  /** The client secret of a OneRoster provider, for commands that set or try a source. */
  sourceClientSecret: string | undefined;
  /** Of the first operator; undefined: made at the first start with the embedded database, and no console without it. */
  adminPassword: string | undefined;
  purgeAfterDays: number;
  shrinkLimitPercent: number;
  /** What list files may take of the disk; 0: none are written. */
  listCacheMb: number;
  logLevel: string;
  /** The variables that are set; the others have their defaults. */
  given: readonly string[];
}>;

/** Every variable there is. */
export const variables = [
  'HOST', 'PORT', 'METRICS_PORT', 'PUBLIC_URL', 'TRUST_PROXY', 'DATA_DIR', 'DATABASE_URL', 'DATABASE_READ_URL', 'SECRET_KEY', 'ROLE', 'DEMO',
  'SMTP_URL', 'MAIL_FROM', 'OUTBOUND_ALLOW', 'RATE_LIMIT_PER_MINUTE', 'PURGE_AFTER_DAYS', 'SHRINK_LIMIT_PERCENT', 'ADMIN_PASSWORD', 'BACKUP_PASSPHRASE',
  'SOURCE_CLIENT_SECRET', 'LIST_CACHE_MB', 'LOG_LEVEL',
] as const;
export type Variable = (typeof variables)[number];

export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

const roles = ['api', 'worker', 'all'] as const;
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const loopback = ['127.0.0.0/8', '::1/128'];
/** In the data directory, where no others are set. */
export const [secretKeyFile, adminPasswordFile] = ['secret.key', 'admin.password'];
const minimumSecretKeyLength = 32;
const minimumAdminPasswordLength = 12;
const longestAdminPassword = 256;
export const shortestPassphrase = 12;

/** without: what counts as not set. */
export function readConfig(env: Record<string, string | undefined> = process.env, without: readonly Variable[] = []): Config {
  const problems: string[] = [];
  const text = (name: Variable) => (without.includes(name) || env[name]?.trim() === '' ? undefined : env[name]?.trim());

  function number(name: Variable, fallback: number, min: number, max: number): number {
    const value = text(name);
    if (value === undefined) return fallback;
    if (/^\d+$/.test(value) && Number(value) >= min && Number(value) <= max) return Number(value);
    problems.push(`${name}: "${value}" is not a whole number from ${min} to ${max}`);
    return fallback;
  }

  function choice<T extends string>(name: Variable, allowed: readonly T[], fallback: T): T {
    const value = text(name);
    if (value === undefined) return fallback;
    const found = allowed.find((one) => one === value);
    if (found === undefined) problems.push(`${name}: "${value}" is not one of ${allowed.join(', ')}`);
    return found ?? fallback;
  }

  function url(name: Variable, protocols: readonly string[]): string | undefined {
    const value = text(name);
    if (value === undefined) return undefined;
    const parsed = URL.canParse(value) ? new URL(value) : undefined;
    if (parsed && protocols.includes(parsed.protocol)) return value;
    problems.push(`${name}: not a URL that begins with ${protocols.map((one) => `${one}//`).join(' or ')}`);
    return undefined;
  }

  /** Several hosts stand between commas: postgres://user:password@one:5432,two:5432/database. */
  function databases(name: Variable): string[] | undefined {
    const value = text(name);
    if (value === undefined) return undefined;
    const [, before = '', hosts = '', behind = ''] = /^(postgres(?:ql)?:\/\/(?:[^/?]*@)?)([^/?]*)(.*)$/s.exec(value) ?? [];
    const each = hosts.split(',').map((host) => `${before}${host.trim()}${behind}`);
    if (before !== '' && each.every((one) => URL.canParse(one))) return each;
    problems.push(
      `${name}: not a URL that begins with postgres:// or postgresql://, or with several hosts not postgres://user:password@one:5432,two:5432/database`,
    );
    return undefined;
  }

  function cidrs(name: Variable): string[] | undefined {
    const list = text(name)?.split(',').map((one) => one.trim()).filter(Boolean);
    for (const cidr of list ?? []) if (!isCidr(cidr)) problems.push(`${name}: "${cidr}" is not an address or CIDR range such as 10.0.0.0/8`);
    return list;
  }

  const host = text('HOST') ?? '127.0.0.1';
  if (isIP(host) === 0 && !/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(host)) problems.push(`HOST: "${host}" is not an address or a host name`);
  const port = number('PORT', 8080, 1, 65535);
  const publicUrl = url('PUBLIC_URL', ['http:', 'https:']);
  if (publicUrl && /[?#]/.test(publicUrl)) problems.push('PUBLIC_URL: must not have a query or a fragment');
  const path = publicUrl === undefined ? '/' : new URL(publicUrl).pathname;
  if (/[^/]/.test(path))
    problems.push(`PUBLIC_URL: must not have a path ("${path}"); give Schoolbell a host name of its own, such as https://schoolbell.example`);
  if (publicUrl && /^[^/]*\/+[^/]*@/.test(publicUrl)) problems.push('PUBLIC_URL: must not have a user or password; it stands in every link');
  const trustProxy = cidrs('TRUST_PROXY') ?? [];
  const databaseUrls = databases('DATABASE_URL');
  const databaseReadUrls = databases('DATABASE_READ_URL');
  if (databaseReadUrls && text('DATABASE_URL') === undefined)
    problems.push('DATABASE_READ_URL: names replicas of the database in DATABASE_URL, which is not set; the embedded one has none');
  const smtpUrl = url('SMTP_URL', ['smtp:', 'smtps:']);
  const mailFrom = text('MAIL_FROM');
  if (text('SMTP_URL') !== undefined && !mailFrom) problems.push('MAIL_FROM: required with SMTP_URL, for example "Schoolbell <schoolbell@trust.example>"');
  if (mailFrom && (!mailFrom.includes('@') || /[\r\n]/.test(mailFrom))) problems.push(`MAIL_FROM: "${mailFrom}" is not an e-mail address`);
  const secretKeys = text('SECRET_KEY')?.split(',').map((one) => one.trim()) ?? [];
  if (text('DATABASE_URL') !== undefined && secretKeys.length === 0) {
    problems.push(`SECRET_KEY: required with DATABASE_URL (${minimumSecretKeyLength} characters or more; keep it, stored keys cannot be read without it)`);
  }
  for (const [at, key] of secretKeys.entries()) {
    const which = secretKeys.length > 1 ? `key ${at + 1} of ${secretKeys.length} (a comma stands between keys)` : '';
    if (key.length < minimumSecretKeyLength) problems.push(`SECRET_KEY: ${which && `${which} `}needs at least ${minimumSecretKeyLength} characters`);
    if (secretKeys.indexOf(key) < at) problems.push(`SECRET_KEY: ${which} was given before`);
  }
  // As it is: what stands around a password is part of it.
  const adminPassword = text('ADMIN_PASSWORD') === undefined ? undefined : env.ADMIN_PASSWORD;
  if (adminPassword !== undefined && [...adminPassword.trim()].length < minimumAdminPasswordLength)
    problems.push(`ADMIN_PASSWORD: needs at least ${minimumAdminPasswordLength} characters`);
  if (adminPassword !== undefined && (adminPassword.length > longestAdminPassword || /\p{Cc}/u.test(adminPassword)))
    problems.push(`ADMIN_PASSWORD: must not have more than ${longestAdminPassword} characters, nor line breaks or other control characters`);
  const backupPassphrase = text('BACKUP_PASSPHRASE');
  if (backupPassphrase !== undefined && [...backupPassphrase].length < shortestPassphrase)
    problems.push(`BACKUP_PASSPHRASE: needs at least ${shortestPassphrase} characters`);
  const outboundAllow = cidrs('OUTBOUND_ALLOW');
  const demoDefault = !databaseUrls && isLoopback(host) ? 'on' : 'off';

  const demo = choice('DEMO', ['on', 'off'], demoDefault) === 'on';

  const config: Config = Object.freeze({
    host,
    port,
    publicUrl: (publicUrl ? new URL(publicUrl).href : `http://${host.includes(':') ? `[${host}]` : host}:${port}`).replace(/\/+$/, ''),
    trustProxy,
    dataDir: resolve(text('DATA_DIR') ?? './data'),
    databaseUrls,
    databaseReadUrls,
    secretKeys,
    role: choice('ROLE', roles, 'all'),
    demo,
    rateLimitPerMinute: number('RATE_LIMIT_PER_MINUTE', 1200, 0, 1_000_000_000),
    outboundAllow: outboundAllow ?? (demo ? loopback : []),
    answersFrom: demo ? loopback : [],
    mail: smtpUrl && mailFrom ? { smtpUrl, from: mailFrom } : undefined,
    metricsPort: text('METRICS_PORT') === undefined ? undefined : number('METRICS_PORT', 0, 1, 65535),
    adminPassword,
    backupPassphrase,
    sourceClientSecret: text('SOURCE_CLIENT_SECRET'),
    purgeAfterDays: number('PURGE_AFTER_DAYS', 90, 1, 36_500),
    shrinkLimitPercent: number('SHRINK_LIMIT_PERCENT', 20, 0, 100),
    listCacheMb: number('LIST_CACHE_MB', 4096, 0, 100_000_000),
    logLevel: choice('LOG_LEVEL', logLevels, 'info'),
    given: variables.filter((name) => text(name) !== undefined),
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function isCidr(value: string): boolean {
  const [address, prefix, ...rest] = value.split('/');
  const family = isIP(address ?? '');
  if (family === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128);
}
