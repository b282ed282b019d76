// In charge of what a command is: its options, its help, and what it does with an open database.
import type { ParseArgsOptionsConfig } from 'node:util';
import type { Deed } from '../access/audit-trail.ts';
import type { Seal } from '../access/seal.ts';
import type { Config } from '../config.ts';
import type { Db } from '../db/connect.ts';
import { parseInstant } from '../http/parameters.ts';

/** Puts a question to a person and gives the answer; undefined where nobody is there to be asked. */
export type Ask = ((question: string) => Promise<string>) | undefined;

/** `secret` keeps the value out of the audit log. `warning` is printed on standard error if the option is given. */
export type Option = { value: string | undefined; help: string; required?: true; many?: true; secret?: true; warning?: string };
/** `missing` says which required options are missing; only commands with `reportsMissing` run then. */
export type Given = Readonly<{
  options: Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;
  positionals: readonly string[];
  missing?: string;
}>;
/** `ask` is absent outside a terminal. `largestUpload`: bytes of the largest package that is stored; 512 MB unless given. */
export type Context = { db: Db; seal: Seal; config: Config; ask?: Ask; largestUpload?: number };

/** What is printed: `data` with --json, `lines` without. A failure is printed all the same and ends with 1. */
export type Outcome = { data: unknown; lines: readonly string[]; failed?: string };

/** What would be gone for good: its name, and how much of what. again: whoever sent it can send it again, so that no --yes is needed. */
export type Loss = { what: string; data: Readonly<Record<string, unknown>>; lines: readonly string[]; again?: true };

/** changes: something is otherwise afterwards. looks: somebody reads about people, or what opens something. Both stand in the trail. */
export type Effect = 'changes' | 'looks' | 'reads';

export type Command = Readonly<{
  name: string;
  effect: Effect;
  help: string;
  options: Readonly<Record<string, Option>>;
  /** record: the id of one of a roster, which the trail has as it is, so that it goes from there with whom it names. */
  positional?: { name: string; help: string; optional?: true; secret?: true; record?: true };
  /** Whether `run` throws an error for missing options, which lists the faults of the given options too. */
  reportsMissing?: true;
  /** Whether it works on the schema as it is found, of this version or of an older one, and leaves it so. */
  leavesSchema?(given: Given): boolean;
  /** Of a command that takes away what no other brings back: it then asks, or needs --yes. Undefined: this time nothing goes. */
  destroys?(context: Context, given: Given): Promise<Loss | undefined>;
  /** Of whose it is, where no option says so: for the trail of that school and application. */
  about?(context: Context, given: Given): Promise<Pick<Deed, 'estab' | 'rp' | 'subject'> | undefined>;
  run(context: Context, given: Given): Promise<Outcome>;
}>;

/**
 * One that does not work on a migrated database which somebody else has opened for it: it finds its own, if any, and
 * writes its own line in the trail. ask: as for what destroys.
 */
export type StandaloneCommand = Pick<Command, 'name' | 'help' | 'options' | 'positional'> &
  Readonly<{
    runAlone(config: Config, given: Given, ask: Ask): Promise<Outcome>;
    /** Settings of a database do not count then, not even where they are not complete. */
    needsNoDatabase?(given: Given): boolean;
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

/** One that is none is said, as on pages and in the API. */
export function optionalTime(given: Given, name: string): Date | undefined {
  const value = optionalText(given, name);
  return value === undefined ? undefined : parseInstant({ [`--${name}`]: [value] }, `--${name}`);
}

export function optionalText(given: Given, name: string): string | undefined {
  const value = given.options[name];
  return typeof value === 'string' ? value : undefined;
}
