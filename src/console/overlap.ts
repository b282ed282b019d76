// In charge of how long a secret that is replaced goes on working, as an operator chooses it.
import { SchoolbellError } from '../errors.ts';
import { cutText } from '../http/cut-text.ts';
import type { Form } from '../http/forms.ts';
import type { Html } from '../http/html.ts';
import { renderSelect } from '../http/pages/field.ts';
import { formatExact } from '../http/pages/moment.ts';
import type { Rotated } from '../onboarding/rotate-secret.ts';

const overlaps = [
  { value: '0', label: 'Ends at once', seconds: 0 },
  { value: '1h', label: 'One hour', seconds: 3_600 },
  { value: '24h', label: 'One day', seconds: 86_400 },
  { value: '7d', label: 'Seven days', seconds: 7 * 86_400 },
  { value: '30d', label: 'Thirty days', seconds: 30 * 86_400 },
] as const;
const name = 'keep-old';

/** Unless somebody chooses, so that an application that nobody has told yet goes on. */
const usual: (typeof overlaps)[number]['value'] = '24h';

export function renderOverlap(typed: Form | undefined): Html {
  return renderSelect({
    name, label: 'How long the old one goes on working', value: typed?.one(name) || usual, choices: overlaps,
    hint: 'As long as the application needs to change over. You can end it earlier here.',
  });
}

export function requireOverlap(form: Form): number {
  const chosen = overlaps.find(({ value }) => value === form.one(name));
  if (!chosen) throw new SchoolbellError('invalid_request', 'Choose how long the old one goes on working.');
  return chosen.seconds;
}

/** For the audit trail. */
export const describeOverlap = (form: Form) => ({ keepOld: cutText(form.one(name), 10) });
export const endsOld = { endOld: true } as const;

export function describeOldEnds({ keptSeconds, oldEnds }: Rotated): string {
  return keptSeconds === 0 ? 'The old one has ended.' : `The old one works until ${formatExact(oldEnds)}.`;
}
