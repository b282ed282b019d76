// In charge of samples in Python 3: its standard library, nothing to install.
import type { Credential } from './credentials.ts';
import { Env, python, type Text } from './quote.ts';
import type { SampleRequest } from './sample-request.ts';

export function renderPython(request: SampleRequest): string {
  const { origin, credential } = request;
  const program = [...renderToken(credential), renderUrl(request), renderCall(request), renderAnswer(request)].join('\n');
  const modules = [
    ...(program.includes('base64.') ? ['base64'] : []),
    ...(program.includes('json.') ? ['json'] : []),
    ...(program.includes('os.environ') ? ['os'] : []),
    'urllib.error',
    ...(program.includes('urllib.parse.') ? ['urllib.parse'] : []),
    'urllib.request',
  ];
  return `${modules.map((name) => `import ${name}\n`).join('')}\norigin = ${python.text(origin)}\n\n\n${sends}\n\n\n${program}\n`;
}

/** The answer to what is refused says why; by itself Python would show its status alone. */
const sends = `def send(request):
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.read()
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{error.code} {error.read().decode()}")`;

function basic({ user, password }: { user: Text; password: Text }): string {
  return `"Basic " + base64.b64encode((${python.join([...user, ':', ...password])}).encode()).decode()`;
}

function renderToken(credential: Credential | undefined): string[] {
  if (!credential || !('scheme' in credential.uses) || credential.uses.token instanceof Env) return [];
  const { token } = credential.uses;
  const options =
    'basic' in token
      ? [`headers={"Authorization": ${basic(token.basic)}},`]
      : ['headers={"Content-Type": "application/json"},', `data=json.dumps(${python.value(token.json, '    ')}).encode(),`];
  return [
    `request = urllib.request.Request(
    origin + ${python.text(token.path)},
    method="POST",
${options.map((option) => `    ${option}\n`).join('')})
token = json.loads(send(request))[${python.text(token.field)}]
`,
  ];
}

function renderUrl({ path, query }: SampleRequest): string {
  if (query.length === 0) return `url = origin + ${python.text(path)}`;
  return `query = ${renderPairs(query, '')}\nurl = origin + ${python.text(path)} + "?" + urllib.parse.urlencode(query)`;
}

function presentCredential(credential: Credential | undefined): string[] {
  if (!credential) return [];
  const { uses } = credential;
  if ('basic' in uses) return [`"Authorization": ${basic(uses.basic)}`];
  return [`"Authorization": "${uses.scheme} " + ${uses.token instanceof Env ? `os.environ["${uses.token.name}"]` : 'token'}`];
}

function renderCall(request: SampleRequest): string {
  const { method, credential, body } = request;
  const headers = [
    ...presentCredential(credential),
    ...request.headers.map(([name, value]) => `${python.text(name)}: ${python.text(value)}`),
    ...(body ? [`"Content-Type": ${python.text(body.contentType)}`] : []),
  ];
  const options = [
    'url,',
    `method="${method}",`,
    ...(headers.length === 0 ? [] : [`headers={\n${headers.map((header) => `        ${header},\n`).join('')}    },`]),
    ...(body ? [`data=${renderBody(body)},`] : []),
  ];
  return `request = urllib.request.Request(\n${options.map((option) => `    ${option}\n`).join('')})`;
}

function renderBody(body: NonNullable<SampleRequest['body']>): string {
  if (body.kind === 'file') return `open("${body.name}", "rb").read()`;
  if (body.kind === 'text') return `${python.text(body.text)}.encode()`;
  if (body.kind === 'json') return `json.dumps(${python.value(body.value, '    ')}).encode()`;
  return `urllib.parse.urlencode(${renderPairs(body.fields, '    ')}).encode()`;
}

function renderPairs(pairs: readonly (readonly [string, string | Env])[], indent: string): string {
  const lines = pairs.map(([name, value]) => `${indent}    (${python.text(name)}, ${python.join([value])}),\n`);
  return `[\n${lines.join('')}${indent}]`;
}

function renderAnswer({ answer }: SampleRequest): string {
  if (answer === 'json') return `print(json.dumps(json.loads(send(request)), indent=2))`;
  if (answer === 'text') return `print(send(request).decode())`;
  if (answer === 'nothing') return `send(request)\nprint("done")`;
  return `with open("${answer.file}", "wb") as file:\n    file.write(send(request))`;
}
