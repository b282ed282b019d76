// In charge of reading a request for a QR code: names in any case, each parameter once, every value checked before
// anything is fetched or drawn.
import { SchoolbellError } from '../errors.ts';
import { requireKnownNames } from '../http/known-parameters.ts';

export type QrRequest = Readonly<{
  text: string;
  type: QrType;
  /** The percentage is of the code's width, without its quiet zone. */
  picture: Readonly<{ url: string; percent: number }> | undefined;
}>;

export const qrTypes = ['QRCode', 'ArtCode'] as const;
export type QrType = (typeof qrTypes)[number];

/** What fits into the largest code is 2,331 bytes at level M and 1,273 at level H. */
const mostBytes = { plain: 2_000, withPicture: 1_200 };
const percents = { lowest: 5, usual: 20, highest: 30 };
const range = `${percents.lowest} to ${percents.highest}`;
const names = ['text', 'centerImageUrl', 'centerImagePercent', 'QRType'] as const;
type Name = (typeof names)[number];

/** Takes a query, whose values are lists, or the members of a body, whose values are strings or numbers. */
export function parseQrRequest(values: Readonly<Record<string, unknown>>): QrRequest {
  requireKnownNames(values, names, 'GenerateQRCode');
  const text = findValue(values, 'text') ?? refuse('text is missing: what the code is to say.');
  const url = findValue(values, 'centerImageUrl');
  const type = parseType(findValue(values, 'QRType'));
  const percent = parseNumber(findValue(values, 'centerImagePercent'));
  requireFitting(text, url !== undefined);
  // Without a picture there is nothing to size.
  return { text, type, picture: url === undefined ? undefined : { url, percent: requirePercent(percent) } };
}

function findValue(values: Readonly<Record<string, unknown>>, name: Name): string | undefined {
  const given = Object.entries(values).filter(([key]) => key.toLowerCase() === name.toLowerCase()).flatMap(([, value]) => value ?? []);
  if (given.length > 1) refuse(`${name} is given ${given.length} times; give it once.`);
  const [value] = given;
  if (value === undefined) return undefined;
  if (typeof value !== 'string' && typeof value !== 'number') return refuse(`${name} must be a string${name === 'centerImagePercent' ? ' or a number' : ''}.`);
  if (value === '') refuse(name === 'text' ? 'text is empty: a code says at least one character.' : `${name} is empty; leave it out or give a value.`);
  return String(value);
}

function parseType(given: string | undefined): QrType {
  if (given === undefined) return 'QRCode';
  return qrTypes.find((type) => type.toLowerCase() === given.toLowerCase()) ?? refuse(`QRType: "${given.slice(0, 40)}" is neither ${qrTypes.join(' nor ')}.`);
}

function parseNumber(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (!/^-?\d{1,9}(\.\d{1,17})?$/.test(given)) refuse(`centerImagePercent: "${given.slice(0, 40)}" is not a number from ${range}.`);
  return Number(given);
}

function requirePercent(percent: number = percents.usual): number {
  if (percent < percents.lowest || percent > percents.highest) refuse(`centerImagePercent: "${percent}" is not a number from ${range}.`);
  return percent;
}

function requireFitting(text: string, withPicture: boolean): void {
  if (!text.isWellFormed()) refuse('text has half of a surrogate pair; it must be valid Unicode.');
  const bytes = Buffer.byteLength(text);
  const most = withPicture ? mostBytes.withPicture : mostBytes.plain;
  if (bytes > most) refuse(`text has ${bytes} bytes as UTF-8; a code ${withPicture ? 'with a picture' : 'without a picture'} takes at most ${most}.`);
}

function refuse(message: string): never {
  throw new SchoolbellError('invalid_request', message);
}
