// In charge of showing the settings in force: each variable with its value and where that comes from. Of a secret only
// whether there is one, and where it is kept; of an address with a password in it, neither user nor password.
import { join } from 'node:path';
import { adminPasswordFile, secretKeyFile, variables, type Config, type Variable } from './config.ts';

/** set: in the environment. made: by the first start, and kept in a file. */
export type Setting = Readonly<{ name: Variable; value: string; from: 'set' | 'default' | 'made' }>;

const none = 'none';
const listOf = (values: readonly string[]) => (values.length === 0 ? none : values.join(', '));

const values: Readonly<Record<Variable, (config: Config) => string>> = {
  HOST: ({ host }) => host,
  PORT: ({ port }) => String(port),
  METRICS_PORT: ({ metricsPort }) => (metricsPort === undefined ? none : String(metricsPort)),
  PUBLIC_URL: ({ publicUrl }) => withoutCredentials(publicUrl),
  TRUST_PROXY: ({ trustProxy }) => listOf(trustProxy),
  DATA_DIR: ({ dataDir }) => dataDir,
  DATABASE_URL: ({ databaseUrls }) => (databaseUrls === undefined ? 'the embedded PostgreSQL' : databaseUrls.map(withoutCredentials).join(', ')),
  DATABASE_READ_URL: ({ databaseReadUrls }) => listOf((databaseReadUrls ?? []).map(withoutCredentials)),
  SECRET_KEY: ({ secretKeys, dataDir }) => {
    if (secretKeys.length === 0) return `in the file ${join(dataDir, secretKeyFile)}`;
    return secretKeys.length === 1 ? 'set' : `set, ${secretKeys.length} keys: the first seals, all of them open`;
  },
  ROLE: ({ role }) => role,
  DEMO: ({ demo }) => (demo ? 'on' : 'off'),
  SMTP_URL: ({ mail }) => (mail === undefined ? 'none: mails are kept' : withoutCredentials(mail.smtpUrl)),
  MAIL_FROM: ({ mail, given }) => mail?.from ?? (given.includes('MAIL_FROM') ? 'not used: there is no SMTP_URL' : none),
  OUTBOUND_ALLOW: ({ outboundAllow }) => listOf(outboundAllow),
  RATE_LIMIT_PER_MINUTE: ({ rateLimitPerMinute }) => (rateLimitPerMinute === 0 ? 'off' : String(rateLimitPerMinute)),
  PURGE_AFTER_DAYS: ({ purgeAfterDays }) => String(purgeAfterDays),
  SHRINK_LIMIT_PERCENT: ({ shrinkLimitPercent }) => String(shrinkLimitPercent),
  LIST_CACHE_MB: ({ listCacheMb }) => (listCacheMb === 0 ? 'off' : String(listCacheMb)),
  ADMIN_PASSWORD: ({ adminPassword, databaseUrls, dataDir }) => {
    if (adminPassword !== undefined) return 'set';
    return databaseUrls === undefined ? `in the file ${join(dataDir, adminPasswordFile)}` : 'not set';
  },
  BACKUP_PASSPHRASE: ({ backupPassphrase }) => (backupPassphrase === undefined ? none : 'set'),
  SOURCE_CLIENT_SECRET: ({ sourceClientSecret }) => (sourceClientSecret === undefined ? none : 'set'),
  LOG_LEVEL: ({ logLevel }) => logLevel,
};

export function listSettings(config: Config): Setting[] {
  return variables.map((name) => ({ name, value: values[name](config), from: sourceOf(name, config) }));
}

function sourceOf(name: Variable, { given, databaseUrls }: Config): Setting['from'] {
  if (given.includes(name)) return 'set';
  const made = name === 'SECRET_KEY' || (name === 'ADMIN_PASSWORD' && databaseUrls === undefined);
  return made ? 'made' : 'default';
}

/** Only where it leads: a query may hold a password too. */
function withoutCredentials(address: string): string {
  const { protocol, host, pathname } = new URL(address);
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
}
