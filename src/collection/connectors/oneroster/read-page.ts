// In charge of one page of a collection: what is asked for, and what the answer must be.
import { cutText } from '../../../http/cut-text.ts';
import type { CollectionName } from '../../../roster/resource.ts';
import { MisError } from '../../connector.ts';
import type { ProviderAnswer } from './persistent-call.ts';
import type { Provider } from './provider.ts';

export type JsonRecord = Readonly<Record<string, unknown>>;
export type ProviderPage = Readonly<{
  records: readonly JsonRecord[];
  /** How many records the provider announces in all, if it does. */
  total: number | undefined;
  /** The provider's clock when it answered. */
  date: string | undefined;
}>;

export type PageRequest = Readonly<{ collection: CollectionName; limit: number; offset: number; since: string | undefined }>;

export function askPage(provider: Provider, { collection, limit, offset, since }: PageRequest): Promise<ProviderAnswer> {
  const filter = since === undefined ? '' : `&filter=${encodeURIComponent(`dateLastModified>='${since}'`).replaceAll("'", '%27')}`;
  return provider.get(`/${collection}?limit=${limit}&offset=${offset}&sort=sourcedId&orderBy=asc${filter}`);
}

export function parsePage(url: string, collection: CollectionName, answer: ProviderAnswer): ProviderPage {
  if (answer.status !== 200) throw describeRefusal(url, collection, answer);
  const type = answer.headers['content-type']?.split(';')[0] ?? 'no type';
  let content: unknown;
  try {
    content = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(answer.body));
  } catch (cause) {
    throw new MisError('Error', `The provider's answer for ${collection} is not JSON (${type}, ${answer.body.length} bytes). Check the provider's address.`, {
      cause,
    });
  }
  const records: unknown = isObject(content) ? content[collection] : undefined;
  if (!Array.isArray(records) || !records.every(isObject))
    throw new MisError('Error', `The provider's answer for ${collection} has no list of records under "${collection}".`);
  return { records, total: parseTotal(collection, answer.headers['x-total-count']), date: answer.headers.date };
}

function isObject(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parseTotal(collection: CollectionName, header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === '') return undefined;
  if (/^\s*\d{1,15}\s*$/.test(header)) return Number(header);
  throw new MisError('Error', `The provider announced "${header.slice(0, 40)}" ${collection}, which is no number.`);
}

function describeRefusal(url: string, collection: CollectionName, { status, headers, body }: ProviderAnswer): MisError {
  const refuse = (message: string) => new MisError('Error', message, { later: false });
  if (status === 401 || status === 403)
    return refuse(`The provider does not let this client id read ${collection} (${status}). Ask the provider to allow it, or enter other credentials.`);
  if (status === 404 || status === 410) return refuse(`The provider has no ${collection} at ${url}/${collection} (${status}). Check its address.`);
  if (status >= 300 && status < 400)
    return refuse(`The provider has moved ${collection} (${status}) to ${headers.location?.slice(0, 200) ?? 'an unnamed place'}. Enter its new address.`);
  const said = headers['content-type']?.startsWith('text/html')
    ? ''
    : cutText(hideCredentials(body.toString()).replace(/[^\x20-\x7e\u00a0-\uffff]+/g, ' '), 200).trim();
  return new MisError('Error', `The provider refused to give ${collection} (${status})${said === '' ? '.' : `: ${said}`}`);
}

/** Some providers repeat the Authorization header of a request that they refuse. */
const hideCredentials = (text: string) => text.replaceAll(/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, '$1 …');
