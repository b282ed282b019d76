// In charge of what PostgreSQL's values are here: instants and dates are Dates (a date is its midnight UTC), bigint and
// numeric stay text, as do intervals.
import pg from 'pg';

const { builtins } = pg.types;
const arrays = { date: 1182, timestamp: 1115, timestamptz: 1185, interval: 1187, numeric: 1231 } as const;

const toDate = (text: string) => new Date(text);
const toText = (text: string) => text;
/** An array of texts is read by the driver; its items are ours. */
const readTexts = pg.types.getTypeParser(1009 as never) as (text: string) => (string | null)[];
const toDates = (text: string) => readTexts(text).map((one) => (one === null ? null : new Date(one)));

const own = new Map<number, (text: string) => unknown>([
  [builtins.DATE, toDate],
  [builtins.TIMESTAMP, toDate],
  [builtins.TIMESTAMPTZ, toDate],
  [builtins.INTERVAL, toText],
  [arrays.date, toDates],
  [arrays.timestamp, toDates],
  [arrays.timestamptz, toDates],
  [arrays.interval, readTexts],
  [arrays.numeric, readTexts],
]);

export const valueParsers = {
  getTypeParser: (id: number, format?: string) =>
    (format === 'binary' ? undefined : own.get(id)) ?? pg.types.getTypeParser(id as never, (format ?? 'text') as never),
} as pg.CustomTypesConfig;
