// Covers the guides: each is a page, what is written as HTML is shown as text, every link of every Markdown file of the repository leads
// somewhere, and each alarm is explained.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import { lexer, type Token, type Tokens } from 'marked';
import { useService } from '../../test/service.ts';
import { variables } from '../config.ts';
import { html } from '../http/html.ts';
import { anchorOf, guideFiles, isHeading, nameOfGuide, readGuides } from './guides.ts';
import { renderMarkdown } from './pages/markdown.ts';

const root = join(import.meta.dirname, '../..');
const readText = (file: string) => readFileSync(join(root, file), 'utf8');
const { app } = await useService({ PUBLIC_URL: 'https://schoolbell.example' });
const open = async (path: string) => app.inject({ url: path, headers: { accept: 'text/html' } });
const all = readGuides().flatMap(({ guides }) => guides);

test('every guide is a page with its title, its headings as places, and the address of this service', async () => {
  const list = await open('/docs/guides');
  assert.ok(all.length >= 20);
  for (const { name, title, tokens, summary } of all) {
    assert.ok(list.body.includes(`<a href="/docs/guides/${name}">${title}</a>`), name);
    assert.ok(summary.length > 20, `${name} begins with what it is about`);
    const { statusCode, body } = await open(`/docs/guides/${name}`);
    assert.equal(statusCode, 200, name);
    assert.ok(body.includes(`<h1>${title}</h1>`), name);
    for (const heading of tokens.filter(isHeading)) assert.match(body, new RegExp(`<h[23] id="${anchorOf(heading)}">`), name);
    assert.doesNotMatch(body, /<th[^>]*><\/th>|<td[^>]*><div><\/div>|<p><\/p>/, name);
    assert.doesNotMatch(body, /127\.0\.0\.1:8080|\.md["#]/, `${name}: another address, or a link to a file`);
  }
  assert.match((await open('/docs/guides/read-a-roster')).body, /API=https:\/\/schoolbell\.example/);
  assert.equal((await open('/docs/guides/nothing')).statusCode, 404);
});

test('guides are found by their words', async () => {
  const found = async (words: string) => (await open(`/docs/search?q=${encodeURIComponent(words)}`)).body;
  assert.match(await found('SchoolbellOutboxLag'), /<a href="\/docs\/guides\/watch-it#alarms">Alarms<\/a>/);
  assert.match(await found('keep a copy'), /<a href="\/docs\/guides\/keep-a-copy">/);
});

test('HTML in Markdown is text, and no link leads to a script', () => {
  const inline = 'A <b onclick="x">word</b>, [one](javascript:alert(1)), ![two](https://x.example/p.png), `<i>`';
  const text = `<script>alert(1)</script>\n\n${inline}\n\n\`\`\`sh\n<u>\n\`\`\`\n`;
  const place = { findAddress: (href: string) => (href.startsWith('https:') ? href : undefined), inPlace: (text: string) => text };
  const shown = html`${renderMarkdown(lexer(text), place)}`.text;
  assert.doesNotMatch(shown, /<(?:script|b|i|u|img)\b|href="javascript/);
  assert.match(shown, /&#60;script&#62;/);
});

type Link = { href: string; raw: string };

function listLinks(tokens: readonly Token[]): Link[] {
  return tokens.flatMap((token): Link[] => {
    const own = token.type === 'link' || token.type === 'image' ? [{ href: (token as Tokens.Link).href, raw: token.raw }] : [];
    const inTable = token.type === 'table' ? [...(token as Tokens.Table).header, ...(token as Tokens.Table).rows.flat()].flatMap((cell) => cell.tokens) : [];
    const inList = token.type === 'list' ? (token as Tokens.List).items.flatMap((item) => item.tokens) : [];
    return [...own, ...listLinks([...('tokens' in token ? (token.tokens ?? []) : []), ...inTable, ...inList])];
  });
}

const written = globSync(['*.md', 'docs/**/*.md', 'client/*.md', 'samples/**/*.md', 'ops/**/*.md'], { cwd: root });
const anchorsOf = (file: string) => lexer(readText(file)).filter(isHeading).map(anchorOf);

test('every link of every file leads to a file, to a heading of it, or to a page of the service', async () => {
  const faults: string[] = [];
  let many = 0;
  for (const file of written) {
    for (const { href, raw } of listLinks(lexer(readText(file)))) {
      many += 1;
      const [to = '', anchor] = href.split('#');
      const here = /^http:\/\/127\.0\.0\.1:8080(\/.*)/.exec(to)?.[1];
      if (here !== undefined) {
        const { statusCode, body } = await open(here);
        if (statusCode !== 200 || (anchor !== undefined && !body.includes(`id="${anchor}"`))) faults.push(`${file}: ${raw}`);
      } else if (!/^[a-z]+:/.test(href)) {
        const target = to === '' ? file : posix.join(posix.dirname(file), to);
        if (!existsSync(join(root, target))) faults.push(`${file}: ${raw}`);
        else if (anchor !== undefined && !anchorsOf(target).includes(anchor)) faults.push(`${file}: ${raw} (there is no such heading)`);
      }
    }
  }
  assert.deepEqual(faults, []);
  assert.ok(many > 100, `${many} links`);
});

test('the README leads to every guide', () => {
  const linked = listLinks(lexer(readText('README.md'))).map(({ href }) => href);
  assert.deepEqual(Object.values(guideFiles).flat().filter((file) => !linked.includes(file)), []);
  assert.equal(new Set(Object.values(guideFiles).flat().map(nameOfGuide)).size, all.length, 'each has an address of its own');
});

test('each alarm has a row that says what it means', () => {
  const alarms = [...readText('ops/alerts.yaml').matchAll(/alert: (\w+)[^]*?severity: (\w+)/g)].map(([, name, severity]) => `| ${name} | ${severity} |`);
  const page = readText('docs/guides/watch-it.md');
  assert.ok(alarms.length > 15);
  assert.deepEqual(alarms.filter((row) => !page.includes(`\n${row} `)), []);
});

test('each setting has a row', () => {
  const rows = [...readText('docs/settings.md').matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, names = '']) => names.match(/[A-Z_]+/g) ?? []);
  assert.deepEqual(variables.filter((name) => !rows.includes(name)), []);
});
