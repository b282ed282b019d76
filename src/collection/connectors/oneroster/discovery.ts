// In charge of which version of OneRoster a provider speaks, and where it says that it gives tokens: as its public documents
// have it, and otherwise by its address.
import type { Edition } from '../../../roster/resource.ts';
import { MisError } from '../../connector.ts';
import { callPersistently, type Persistence, type ProviderAnswer } from './persistent-call.ts';
import { asObject, readObject } from './read-object.ts';

export const oneRosterVersions = ['1.1', '1.2'] as const;
export type OneRosterVersion = (typeof oneRosterVersions)[number];
export const editionOf: Readonly<Record<OneRosterVersion, Edition>> = { '1.1': 'v1p1', '1.2': 'v1p2' };

/** tokenUrl: as the provider's own document names it. */
export type Found = Readonly<{ version: OneRosterVersion; tokenUrl: string | undefined }>;
/** told: by whoever set it up. remembered: found by an earlier reading. anew: it is asked although it is remembered. */
export type Known = Readonly<{ told: OneRosterVersion | undefined; remembered: Found | undefined; anew: boolean }>;

/** The standard's name, and that of its guide for certification. */
const documents = ['onerosterv1p2rostersservice_openapi3_v1p0.json', 'imsorv1p2_rostering_openapi3_v1p0.json'];
const documentMs = 15_000;
const longestAddress = 2000;
/** The standard's own document names its authors' site, and some providers publish it as it is, or as an example. */
const placeholders = ['imsglobal.org', '1edtech.org', 'example.com', 'example.org', 'example.net'];

/** No provider has to have such a document: without one, and without an answer, nothing fails. */
export async function discover(persistence: Persistence, url: string, { told, remembered, anew }: Known): Promise<Found> {
  if (told !== undefined) return { version: told, tokenUrl: undefined };
  if (hasSegment(url, 'v1p1')) return { version: '1.1', tokenUrl: undefined };
  if (remembered && !anew) return remembered;
  let silent = false;
  for (const name of documents) {
    try {
      const answer = await askDocument(persistence, `${url}/discovery/${name}`);
      const flow = findTokenFlow(answer);
      if (flow) return { version: '1.2', tokenUrl: findTokenUrl(url, flow.tokenUrl) };
    } catch (error) {
      if (!(error instanceof MisError)) throw error;
      silent = true;
      if (error.status === 'Timeout') break;
    }
  }
  // A provider that is away for a moment does not become one of another version.
  return silent && remembered ? remembered : { version: hasSegment(url, 'v1p2') ? '1.2' : '1.1', tokenUrl: undefined };
}

/** Tried once more at most: what is asked next shows whether the provider is away. */
function askDocument(persistence: Persistence, url: string): Promise<ProviderAnswer> {
  return callPersistently({ ...persistence, waits: persistence.waits.slice(0, 1) }, { method: 'GET', url, headers: {}, totalMs: documentMs });
}

function findTokenFlow(answer: ProviderAnswer): Readonly<Record<string, unknown>> | undefined {
  const { openapi, components } = answer.status === 200 ? readObject(answer) : {};
  if (typeof openapi !== 'string' || !openapi.startsWith('3.')) return undefined;
  const schemes = Object.values(asObject(asObject(components).securitySchemes)).map(asObject);
  const flows = schemes.filter(({ type }) => type === 'oauth2').map((scheme) => asObject(scheme.flows).clientCredentials);
  return flows.filter((flow) => typeof flow === 'object' && flow !== null).map(asObject)[0];
}

/** Of an earlier reading of this provider. */
export function findRemembered(url: string, { found }: Readonly<Record<string, unknown>>): Found | undefined {
  const { url: of, version: given, tokenUrl } = asObject(found);
  const version = oneRosterVersions.find((one) => one === given);
  return version && of === url ? { version, tokenUrl: findTokenUrl(url, tokenUrl) } : undefined;
}

/** An address that may be handed the secret: absolute, and no less encrypted than the provider is. */
function findTokenUrl(url: string, named: unknown): string | undefined {
  if (typeof named !== 'string' || named.length > longestAddress) return undefined;
  const [address, provider] = [URL.parse(named), URL.parse(url)];
  if (!address || !provider || address.username !== '' || address.password !== '') return undefined;
  if (address.protocol !== 'https:' && !(address.protocol === 'http:' && provider.protocol === 'http:')) return undefined;
  const placeholder = placeholders.some((site) => address.hostname === site || address.hostname.endsWith(`.${site}`));
  return placeholder && address.host !== provider.host ? undefined : named;
}

function hasSegment(url: string, segment: string): boolean {
  return URL.parse(url)?.pathname.toLowerCase().split('/').includes(segment) ?? false;
}
