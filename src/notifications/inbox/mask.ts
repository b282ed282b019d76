// In charge of secrets in what came into an inbox: what would open something is not shown by the way.

const secretNames = /secret|password|passwd|token|api[-_]?key/i;
/** Of this service's own making, wherever they stand. */
const ownSecrets = /(sb_[a-z]+_|whsec_)[A-Za-z0-9_+/=-]{8,}/g;
const hidden = '… (hidden)';

/** found: whether anything was left out of what it was given. */
export type Mask = Readonly<{
  text(text: string): string;
  /** A path with its query. */
  address(path: string): string;
  field(name: string, value: string): string;
  json(value: unknown): unknown;
  found(): boolean;
}>;

/** shown: nothing is left out. */
export function createMask({ shown = false }: { shown?: boolean } = {}): Mask {
  let found = false;
  const hide = (beginning: string) => {
    found = true;
    return `${beginning}${hidden}`;
  };
  const text = (given: string) => (shown ? given : given.replaceAll(ownSecrets, (_, beginning: string) => hide(beginning)));
  const field = (name: string, value: string) => {
    if (shown || value === '') return value;
    return secretNames.test(name) ? hide(/^(?:sb_[a-z]+_|whsec_)/.exec(value)?.[0] ?? '') : text(value);
  };
  const address = (path: string) =>
    text(path.replaceAll(/([?&])([^=&]*)=([^&]*)/g, (_, lead: string, name: string, value: string) => `${lead}${name}=${field(name, value)}`));
  /** What stands below a name that says secret is one, whatever it is called there. */
  const json = (value: unknown, name = ''): unknown => {
    if (typeof value === 'string') return field(name, value);
    if (typeof value === 'number') return !shown && secretNames.test(name) ? hide('') : value;
    if (Array.isArray(value)) return value.map((one) => json(one, name));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [text(key), json(one, secretNames.test(name) ? name : key)]));
  };
  return { text, address, field, json: (value) => json(value), found: () => found };
}
