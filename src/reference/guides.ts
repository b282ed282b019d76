// In charge of the guides: which there are, in which order, and what each file says. The files are Markdown, for whoever has the
// repository; `pages/guides` shows the same at /docs.
import { lexer, type Token, type Tokens } from 'marked';
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

export type Guide = Readonly<{ name: string; file: string; title: string; summary: string; tokens: readonly Token[] }>;
export type GuideGroup = Readonly<{ label: string; guides: readonly Guide[] }>;

const root = join(import.meta.dirname, '../..');

/** Files by their path in the repository. The page of each has the file's own name. */
export const guideFiles: Readonly<Record<string, readonly string[]>> = {
  'Build an application': [
    'docs/guides/read-a-roster.md',
    'docs/guides/keep-a-copy.md',
    'docs/guides/receive-events.md',
    'docs/guides/write-attendance.md',
    'docs/guides/sign-people-in.md',
    'docs/guides/rehearse.md',
    'docs/guides/move-from-another-provider.md',
  ],
  'Look after schools and applications': [
    'docs/guides/load-csv.md',
    'docs/guides/onboard-a-school.md',
    'docs/guides/console.md',
    'docs/guides/schools-and-applications.md',
  ],
  'Run the service': [
    'docs/guides/run-in-production.md',
    'docs/guides/watch-it.md',
    'docs/guides/back-up-and-restore.md',
    'docs/guides/upgrade.md',
    'docs/guides/change-keys.md',
  ],
  'When something is wrong': [
    'docs/guides/a-school-is-stuck.md',
    'docs/guides/a-receiver-fails.md',
    'docs/guides/the-disk-fills-up.md',
  ],
  'To look up': ['docs/settings.md', 'docs/what-is-kept.md', 'docs/scale.md', 'docs/oneroster-1p2.md'],
};

export const nameOfGuide = (file: string): string => posix.basename(file, '.md');

export function readGuides(): readonly GuideGroup[] {
  return Object.entries(guideFiles).map(([label, files]) => ({ label, guides: files.map(readGuide) }));
}

function readGuide(file: string): Guide {
  const [heading, ...tokens] = lexer(readFileSync(join(root, file), 'utf8')).filter(({ type }) => type !== 'space');
  if (!isHeading(heading) || heading.depth !== 1) throw new Error(`${file} does not begin with its title`);
  const [first] = tokens;
  return { name: nameOfGuide(file), file, title: heading.text, summary: first?.type === 'paragraph' ? textOf(first) : '', tokens };
}

export const isHeading = (token: Token | undefined): token is Tokens.Heading => token?.type === 'heading';

/** As people read it, without marks. */
export function textOf(token: Token): string {
  if (token.type === 'table') return (token as Tokens.Table).rows.flat().map((cell) => cell.tokens.map(textOf).join('')).join(' ');
  if (token.type === 'list') return (token as Tokens.List).items.map((item) => item.tokens.map(textOf).join(' ')).join(' ');
  if ('tokens' in token && token.tokens !== undefined) return token.tokens.map(textOf).join('');
  return 'text' in token ? token.text : '';
}

/** The anchor of a heading, as hosts of repositories make it. */
export const anchorOf = (heading: Tokens.Heading): string =>
  textOf(heading).toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');

/** A guide in parts that can be found: what stands before its first heading, and each heading with what follows. */
export function listSections({ title, tokens }: Guide): { title: string; anchor: string | undefined; words: string }[] {
  const sections: { title: string; anchor: string | undefined; words: string }[] = [{ title, anchor: undefined, words: '' }];
  for (const token of tokens) {
    const last = sections.at(-1);
    if (isHeading(token)) sections.push({ title: textOf(token), anchor: anchorOf(token), words: '' });
    else if (last) last.words = `${last.words} ${textOf(token)}`.trim();
  }
  return sections;
}
