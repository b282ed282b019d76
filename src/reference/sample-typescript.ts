// In charge of samples in TypeScript: plain fetch, nothing to install, for Node 20 and newer.
import type { Credential } from './credentials.ts';
import { Env, typescript, type Text, type Value } from './quote.ts';
import type { SampleRequest } from './sample-request.ts';

export function renderTypescript(request: SampleRequest): string {
  const { origin, credential } = request;
  const parts = [...renderToken(credential), renderUrl(request), renderCall(request), renderAnswer(request)];
  const program = parts.join('\n');
  const files = [...(program.includes('readFile(') ? ['readFile'] : []), ...(program.includes('writeFile(') ? ['writeFile'] : [])];
  const imports = [
    ...(program.includes('Buffer.from(') ? [`import { Buffer } from 'node:buffer';`] : []),
    ...(files.length > 0 ? [`import { ${files.join(', ')} } from 'node:fs/promises';`] : []),
    ...(program.includes("env('") ? [`import process from 'node:process';`] : []),
  ];
  // What imports nothing is a module, and may wait, if it exports something.
  const top = imports.length > 0 ? imports : ['export {};'];
  const head = [...top, '', `const origin = ${typescript.text(origin)};`, ...(program.includes("env('") ? ['', readsEnv] : [])];
  return `${head.join('\n')}\n\n${program}\n`;
}

const readsEnv = `function env(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(\`\${name} is not set\`);
  return value;
}`;
const limit = 'signal: AbortSignal.timeout(60_000),';

function basic({ user, password }: { user: Text; password: Text }): string {
  return `\`Basic \${Buffer.from(${typescript.join([...user, ':', ...password])}).toString('base64')}\``;
}

function renderToken(credential: Credential | undefined): string[] {
  if (!credential || !('scheme' in credential.uses) || credential.uses.token instanceof Env) return [];
  const { token } = credential.uses;
  const [header, body] =
    'basic' in token
      ? [`authorization: ${basic(token.basic)}`, '']
      : [`'content-type': 'application/json'`, `  body: JSON.stringify(${typescript.value(token.json, '  ')}),\n`];
  return [
    `const granted = await fetch(\`\${origin}${token.path}\`, {
  method: 'POST',
  headers: { ${header} },
${body}  ${limit}
});
if (!granted.ok) throw new Error(\`\${granted.status} \${await granted.text()}\`);
const { ${token.field} } = (await granted.json()) as { ${token.field}: string };
`,
  ];
}

function renderUrl({ path, query }: SampleRequest): string {
  const lines = query.map(([name, value]) => `url.searchParams.append(${typescript.text(name)}, ${typescript.text(value)});`);
  return [`const url = new URL(origin + ${typescript.text(path)});`, ...lines].join('\n');
}

function presentCredential(credential: Credential | undefined): string[] {
  if (!credential) return [];
  const { uses } = credential;
  if ('basic' in uses) return [`authorization: ${basic(uses.basic)}`];
  const token = uses.token instanceof Env ? `env('${uses.token.name}')` : uses.token.field;
  return [`authorization: \`${uses.scheme} \${${token}}\``];
}

function renderCall(request: SampleRequest): string {
  const { method, credential, body } = request;
  const headers = [
    ...presentCredential(credential),
    ...request.headers.map(([name, value]) => `${nameOf(name)}: ${typescript.text(value)}`),
    ...(body ? [`'content-type': ${typescript.text(body.contentType)}`] : []),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}',`]),
    ...(headers.length === 1 ? [`headers: { ${headers.join('')} },`] : []),
    ...(headers.length > 1 ? [`headers: {\n${headers.map((header) => `    ${header},\n`).join('')}  },`] : []),
    ...(body ? [`body: ${renderBody(body)},`] : []),
    limit,
  ];
  return `const response = await fetch(url, {\n${options.map((option) => `  ${option}\n`).join('')}});`;
}

const nameOf = (header: string) => (/^[a-z]+$/i.test(header) ? header.toLowerCase() : typescript.text(header.toLowerCase()));

function renderBody(body: NonNullable<SampleRequest['body']>): string {
  if (body.kind === 'file') return `await readFile('${body.name}')`;
  if (body.kind === 'text') return typescript.text(body.text);
  if (body.kind === 'json') return `JSON.stringify(${typescript.value(body.value, '  ')})`;
  return `new URLSearchParams(${typescript.value(body.fields.map(([name, value]): Value => [name, value]), '  ')})`;
}

function renderAnswer({ answer }: SampleRequest): string {
  const refuse = `if (!response.ok) throw new Error(\`\${response.status} \${await response.text()}\`);`;
  if (answer === 'json') return `${refuse}\nconsole.log(JSON.stringify(await response.json(), null, 2));`;
  if (answer === 'text') return `${refuse}\nconsole.log(await response.text());`;
  if (answer === 'nothing') return `${refuse}\nconsole.log(response.status);`;
  return `${refuse}\nawait writeFile('${answer.file}', new Uint8Array(await response.arrayBuffer()));`;
}
