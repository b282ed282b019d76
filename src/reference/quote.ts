// In charge of values in programs: any text, written so that a shell, TypeScript or Python reads exactly that text again, with
// what is secret taken from the environment by name.

/** Set where the program runs; never written into it. */
export class Env {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** Put together out of what is written and what is set. */
export type Text = readonly (string | Env)[];
/** A JSON value, in which some texts are set where the program runs. */
export type Value = string | number | boolean | null | Env | readonly Value[] | { readonly [key: string]: Value };

/** Letters, marks, digits, signs and the space stand for themselves; what cannot be seen, or looks like something else, is spelled out. */
const unseen = /[\p{C}\p{Zl}\p{Zp}\u{a0}\u{1680}\u{2000}-\u{200a}\u{202f}\u{205f}\u{3000}]/gu;
const hex = (character: string, digits: number) => (character.codePointAt(0) ?? 0).toString(16).padStart(digits, '0');
const plainWord = /^[A-Za-z0-9_./:@%+,=-]+$/;

export const shell = {
  text: (text: string): string => quoteForShell(text),
  join: (parts: Text): string => parts.map((part) => (part instanceof Env ? `"$${part.name}"` : part && quoteForShell(part))).join('') || "''",
} as const;

function quoteForShell(text: string): string {
  if (plainWord.test(text)) return text;
  // What holds ' is easier to read in ", where nothing else in it means something there.
  if (text.includes("'") && !/["$`\\!]/.test(text)) return `"${text}"`;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export const typescript = {
  text: (text: string): string => `'${escapeForTypescript(text).replaceAll("'", "\\'")}'`,
  join(parts: Text): string {
    const [first] = parts;
    if (parts.length === 1 && first !== undefined) return first instanceof Env ? `env('${first.name}')` : typescript.text(first);
    const inside = parts.map((part) => (part instanceof Env ? `\${env('${part.name}')}` : escapeForTypescript(part).replaceAll(/`|\$/g, '\\$&')));
    return `\`${inside.join('')}\``;
  },
  value: (value: Value, indent = ''): string => renderTypescript(value, indent),
} as const;

function escapeForTypescript(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll(unseen, (character) => `\\u{${hex(character, 1)}}`);
}

function renderTypescript(value: Value, indent: string): string {
  if (value instanceof Env) return `env('${value.name}')`;
  if (typeof value === 'string') return typescript.text(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  if (isList(value)) return renderList(value.map((one) => renderTypescript(one, inner)), indent, '[]');
  // Written plainly, this one name would set the object's prototype.
  const name = (key: string) => (key === '__proto__' ? `['__proto__']` : /^[A-Za-z_][A-Za-z0-9_]*$/.test(key) ? key : typescript.text(key));
  return renderList(Object.entries(value).map(([key, one]) => `${name(key)}: ${renderTypescript(one, inner)}`), indent, '{}');
}

export const python = {
  text: (text: string): string => quoteForPython(text),
  join: (parts: Text): string => parts.map((part) => (part instanceof Env ? `os.environ["${part.name}"]` : quoteForPython(part))).join(' + ') || '""',
  value: (value: Value, indent = ''): string => renderPython(value, indent),
} as const;

function quoteForPython(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll(unseen, (character) => (character.length > 1 ? `\\U${hex(character, 8)}` : `\\u${hex(character, 4)}`));
  return `"${escaped}"`;
}

const pythonWords: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };

function renderPython(value: Value, indent: string): string {
  if (value instanceof Env) return `os.environ["${value.name}"]`;
  if (typeof value === 'string') return quoteForPython(value);
  if (typeof value !== 'object' || value === null) return pythonWords[String(value)] ?? JSON.stringify(value);
  const inner = `${indent}    `;
  if (isList(value)) return renderList(value.map((one) => renderPython(one, inner)), indent, '[]', '    ');
  return renderList(Object.entries(value).map(([key, one]) => `${quoteForPython(key)}: ${renderPython(one, inner)}`), indent, '{}', '    ');
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

const longestLine = 100;

/** On one line where it fits, else one on each. */
function renderList(items: readonly string[], indent: string, brackets: '[]' | '{}', step = '  '): string {
  const [open, close] = brackets;
  const line = items.join(', ');
  if (items.length === 0) return `${open}${close}`;
  if (!line.includes('\n') && indent.length + line.length < longestLine) return open === '{' && step === '  ' ? `{ ${line} }` : `${open}${line}${close}`;
  return `${open}\n${items.map((item) => `${indent}${step}${item},\n`).join('')}${indent}${close}`;
}
