// In charge of what to ask for an example: a row for each operation whose parameters' own examples are not enough, because
// something has to be there first or has a name that only the database knows. It makes that and says what to ask.
import type { Ask, Asking } from './ask-described.ts';

/** By the operation's id. */
export const asks: Readonly<Record<string, (asking: Asking) => Promise<Ask>>> = {};
