// In charge of what a command is: its options, its help, and what it does with an open database.
import type { ParseArgsOptionsConfig } from 'node:util';
import type { Seal } from '../access/seal.ts';
import type { Config } from '../config.ts';
import type { Db } from '../db/connect.ts';

export type Option = { value: string | undefined; help: string; required?: true; many?: true };
export type Given = { options: Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>; positionals: readonly string[] };
export type Context = { db: Db; seal: Seal; config: Config };

/** What is printed: `data` with --json, `lines` without. A failure is printed all the same and ends with 1. */
export type Outcome = { data: unknown; lines: readonly string[]; failed?: string };

/** What would be gone for good: its name, and how much of what. again: whoever sent it can send it again, so that no --yes is needed. */
export type Loss = { what: string; data: Readonly<Record<string, unknown>>; lines: readonly string[]; again?: true };

export type Command = Readonly<{
  name: string;
  help: string;
  options: Readonly<Record<string, Option>>;
  positional?: { name: string; help: string; optional?: true };
  /** Of a command that takes away what no other brings back: it then asks, or needs --yes. Undefined: this time nothing goes. */
  destroys?(context: Context, given: Given): Promise<Loss | undefined>;
  run(context: Context, given: Given): Promise<Outcome>;
}>;

/** `value` undefined is a switch. */
export function parseOptionsOf(options: Command['options']): ParseArgsOptionsConfig {
  return Object.fromEntries(
    Object.entries(options).map(
      ([name, option]) => [name, { type: option.value === undefined ? 'boolean' : 'string', multiple: option.many ?? false }] as const,
    ),
  );
}

export function text(given: Given, name: string): string {
  const value = given.options[name];
  return typeof value === 'string' ? value : '';
}

export function optionalText(given: Given, name: string): string | undefined {
  const value = given.options[name];
  return typeof value === 'string' ? value : undefined;
}
