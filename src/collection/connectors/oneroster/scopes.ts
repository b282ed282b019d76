// In charge of the scopes that a provider is asked for, most first, and of what a granted one leaves out.
import { oneRosterScopes } from '../../../access/scopes.ts';
import { editionOf, type OneRosterVersion } from './discovery.ts';

/** What is told where a token is to be asked for without a scope. */
export const noScope = 'none';

/** told: exactly that is sent. Undefined is a request without a scope. */
export function scopesToAsk(version: OneRosterVersion, told: string | undefined): readonly (string | undefined)[] {
  if (told !== undefined) return [told === noScope ? undefined : told];
  const { core, roster, demographics } = oneRosterScopes[editionOf[version]];
  return [`${core} ${demographics}`, `${roster} ${demographics}`, core, roster, undefined];
}

/** Whether a provider granted something of the standard, but no roster. */
export function leavesOutRoster(granted: string | undefined): boolean {
  return granted !== undefined && /\/or\/v1p\d\/scope\/|roster-demographics/.test(granted) && !/roster(?:-core)?\.readonly/.test(granted);
}

/** Of names that are not the standard's nothing can be told. */
export function leavesOutDemographics(scope: string | undefined): boolean {
  return scope !== undefined && /roster(?:-core)?\.readonly/.test(scope) && !scope.includes('roster-demographics');
}
