// In charge of times that an operator gives in a form or an address, by the clock of UTC.
import { SchoolbellError } from '../errors.ts';
import type { Form } from '../http/forms.ts';
import { parseInstant } from '../http/parameters.ts';

/** One that is none is said, not guessed. */
export function readTime(fields: Form, name: string): { at?: Date; problem?: string } {
  const text = fields.one(name);
  if (text === '') return {};
  try {
    const at = parseInstant({ [name]: [text] }, name);
    return at ? { at } : {};
  } catch (error) {
    if (error instanceof SchoolbellError) return { problem: error.message };
    throw error;
  }
}

/** As a browser's field for times has it. */
export const fieldTime = (at: Date | undefined) => at?.toISOString().slice(0, 16) ?? '';
