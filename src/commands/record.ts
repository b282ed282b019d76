// In charge of the record of what is done from the command line: whatever changes something, or shows people, is a line in the
// trail of operators, written before it begins. Where no line can be written, nothing is done.
import { audited, type Deed } from '../access/audit-trail.ts';
import { plainAddresses } from '../access/plain-addresses.ts';
import { whoIsHere } from '../access/who-is-here.ts';
import { cutText } from '../http/cut-text.ts';
import { printable } from '../http/printable.ts';
import type { Command, Context, Given, Outcome } from './command.ts';

/** More than an id has: what is cut would not be found when its person is purged. */
const longestValue = 300;
const longestId = 64;
/** What is agreed to, and how it is printed, says nothing about what was done. */
const unsaid: ReadonlySet<string> = new Set(['estab', 'rp', 'json', 'yes']);

export async function runRecorded(command: Command, context: Context, given: Given, run: () => Promise<Outcome>): Promise<Outcome> {
  if (command.effect === 'reads' || given.options['dry-run'] === true) return run();
  // What is not there is refused by the command itself.
  const about = await command.about?.(context, given).catch(() => undefined);
  return audited(context.db, whoIsHere(), { ...describeDeed(command, given), ...about }, run, ({ failed }) => failed);
}

/** What was given, but for secrets. */
export function describeDeed({ name, options, positional }: Command, given: Given): Deed {
  const id = (option: string) => (typeof given.options[option] === 'string' ? cutText(clean(given.options[option]), longestId) : undefined);
  const said = Object.entries(given.options)
    .filter(([option]) => !unsaid.has(option))
    .map(([option, value]) => [option, options[option]?.secret ? 'given' : sayValue(value)] as const);
  return {
    action: name,
    estab: id('estab'),
    rp: id('rp'),
    subject: positional && !positional.secret ? sayPositionals(given.positionals, positional.record === true) : undefined,
    detail: Object.fromEntries(said),
  };
}

function sayPositionals(given: readonly string[], record: boolean): string | undefined {
  if (given.length === 0) return undefined;
  return record ? printable(given[0] ?? '', ' ') : cutText(given.map(clean).join(' '), longestValue);
}

function sayValue(value: Given['options'][string]): unknown {
  if (Array.isArray(value)) return value.map((one) => (typeof one === 'string' ? clean(one) : one));
  return typeof value === 'string' ? clean(value) : value;
}

function clean(text: string): string {
  return cutText(plainAddresses(printable(text, ' ')), longestValue);
}
