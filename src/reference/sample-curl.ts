// In charge of samples for a shell, with curl: a token first, then the request.
import type { Credential, Obtained } from './credentials.ts';
import { Env, isList, shell, type Text, type Value } from './quote.ts';
import type { SampleBody, SampleRequest } from './sample-request.ts';

const common = 'curl --silent --show-error --fail-with-body --max-time 60';

export function renderCurl(request: SampleRequest): string {
  const { origin, method, credential, body, answer } = request;
  const inQuery = method === 'GET' && body === undefined;
  // An argument cannot hold a NUL; an address can, spelled out.
  const apart = inQuery ? request.query.filter(([name, value]) => !`${name}${value}`.includes('\0')) : [];
  const rest = request.query.filter((one) => !apart.includes(one)).map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  const url = `${origin}${request.path}${rest.length > 0 ? `?${rest.join('&')}` : ''}`;
  const options = [
    ...(method === 'GET' && body === undefined ? [] : [`--request ${method}`]),
    ...presentCredential(credential),
    ...request.headers.map(([name, value]) => `--header ${shell.text(`${name}: ${value}`)}`),
    // Of a form curl says so by itself.
    ...(body && body.kind !== 'form' ? [`--header ${shell.text(`Content-Type: ${body.contentType}`)}`] : []),
    ...(body ? renderBody(body) : []),
    ...(apart.length > 0 ? ['--get', ...apart.map(([name, value]) => `--data-urlencode ${shell.text(`${encodeURIComponent(name)}=${value}`)}`)] : []),
    ...(typeof answer === 'object' ? [`--output ${answer.file}`] : []),
    shell.text(url),
  ];
  return `${obtainToken(origin, credential)}${common} \\\n${options.map((option) => `  ${option}`).join(' \\\n')}\n`;
}

function obtainToken(origin: string, credential: Credential | undefined): string {
  if (!credential || !('scheme' in credential.uses) || credential.uses.token instanceof Env) return '';
  const token: Obtained = credential.uses.token;
  const given =
    'basic' in token
      ? [`--user ${asUser(token.basic)}`]
      : Object.entries(token.json).map(([name, value]) => `--data-urlencode ${shell.join([`${name}=`, value as string | Env])}`);
  const asked = [`${common} --request POST`, ...given, shell.text(`${origin}${token.path}`)];
  // Why there is no token is in the answer, which would else be taken for one.
  return `GRANTED=$(${asked.join(' \\\n  ')}) || echo "$GRANTED" >&2
TOKEN=$(printf %s "$GRANTED" | sed -n 's/.*"${token.field}":"\\([^"]*\\)".*/\\1/p')\n\n`;
}

const asUser = ({ user, password }: { user: Text; password: Text }) => quoteWhole([...user, ':', ...password]);

/** Within one pair of quotes, as far as what is written allows it. */
function quoteWhole(parts: Text): string {
  const plain = parts.every((part) => part instanceof Env || /^[A-Za-z0-9|:=. ]*$/.test(part));
  return plain ? `"${parts.map((part) => (part instanceof Env ? `$${part.name}` : part)).join('')}"` : shell.join(parts);
}

function presentCredential(credential: Credential | undefined): string[] {
  if (!credential) return [];
  const { uses } = credential;
  if ('basic' in uses) return [`--user ${asUser(uses.basic)}`];
  return [`--header "Authorization: ${uses.scheme} $${uses.token instanceof Env ? uses.token.name : 'TOKEN'}"`];
}

function renderBody(body: SampleBody): string[] {
  if (body.kind === 'file') return [`--data-binary @${body.name}`];
  if (body.kind === 'text') return [`--data-raw ${shell.text(body.text)}`];
  if (body.kind === 'json') return [`--data-raw ${shell.join(renderJson(body.value, ''))}`];
  return body.fields.map(([name, value]) => {
    if (!(value instanceof Env) && value.includes('\0')) return `--data-raw ${shell.text(`${encodeURIComponent(name)}=${encodeURIComponent(value)}`)}`;
    return `--data-urlencode ${shell.join([`${encodeURIComponent(name)}=`, value])}`;
  });
}

/** JSON as text, cut where something comes from the environment; what is set there needs no escaping in JSON. */
function renderJson(value: Value, indent: string): Text {
  if (value instanceof Env) return ['"', value, '"'];
  if (typeof value !== 'object' || value === null) return [JSON.stringify(value)];
  const [open, close] = isList(value) ? '[]' : '{}';
  const inner = `${indent}  `;
  const items = isList(value)
    ? value.map((one) => renderJson(one, inner))
    : Object.entries(value).map(([key, one]) => [`${JSON.stringify(key)}: `, ...renderJson(one, inner)]);
  if (items.length === 0) return [`${open}${close}`];
  return merge([`${open}`, ...items.flatMap((item, at) => [`${at === 0 ? '' : ','}\n${inner}`, ...item]), `\n${indent}${close}`]);
}

function merge(parts: Text): Text {
  const merged: (string | Env)[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    if (typeof part === 'string' && typeof last === 'string') merged[merged.length - 1] = last + part;
    else merged.push(part);
  }
  return merged;
}
