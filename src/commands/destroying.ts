// In charge of commands that destroy what no other command brings back: on a terminal they ask, elsewhere they need --yes,
// and --dry-run says what would go.
import { SchoolbellError } from '../errors.ts';
import type { Command, Context, Given, Option, Outcome } from './command.ts';

export const destroyingOptions: Readonly<Record<string, Option>> = {
  yes: { value: undefined, help: 'do not ask; needed where there is no terminal, unless what goes can be sent again' },
  'dry-run': { value: undefined, help: 'say what would go, and change nothing' },
};

/** What a command does in the end; one that destroys only after somebody has agreed. */
export async function runAgreed(command: Command, context: Context, given: Given): Promise<Outcome> {
  const { ask } = context;
  const loss = await command.destroys?.(context, given);
  if (!loss) return command.run(context, given);
  if (given.options['dry-run'] === true) return { data: { dryRun: true, ...loss.data }, lines: [`${loss.what} would go for good:`, ...loss.lines] };
  if (given.options.yes === true) return command.run(context, given);
  if (!ask && loss.again) return command.run(context, given);
  if (!ask)
    throw new SchoolbellError(
      'conflict',
      `${loss.what} would go for good, with all that belongs to it; repeat with --yes, or see with --dry-run what would go`,
    );
  const answer = await ask([`${loss.what} goes for good:`, ...loss.lines, 'Type yes to go on: '].join('\n'));
  if (answer.trim().toLowerCase() !== 'yes') throw new SchoolbellError('conflict', 'nothing was changed');
  return command.run(context, given);
}
