// In charge of what is known about an application: what schools read about it, where it is called, what it asks for.
import type { Application } from '../../access/applications.ts';
import { scopeDescriptions, scopeNames } from '../../access/scopes.ts';
import { html, type Html } from '../../http/html.ts';
import { renderBadge, type Badge } from '../../http/pages/badge.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { renderMailLink, renderOutsideLink } from '../../http/pages/outside-link.ts';

const none = html`<span class="quiet">none</span>`;

/** The callback URL is called, not opened: as a link it would only mislead. */
export function describeProfile({ clientId, callbackUrl, redirectUris, website, privacyNotice, contact, stateEvents }: Application): Html {
  return renderFacts([
    ['Website', website ? renderOutsideLink(website) : none],
    ['Privacy notice', privacyNotice ? renderOutsideLink(privacyNotice) : none],
    ['Contact', contact ? renderMailLink(contact) : none],
    ['Callback URL', html`<span class="id">${callbackUrl}</span>`],
    ['Redirect URIs', redirectUris.length === 0 ? none : html`${redirectUris.map((uri) => html`<span class="id">${uri}</span><br>`)}`],
    ['State events', stateEvents ? 'on' : 'off'],
    ['Client id', html`<span class="id">${clientId}</span>`],
  ]);
}

export function describeScopes({ requiredScopes, optionalScopes }: Application): Html {
  const asked = scopeNames.filter((scope) => requiredScopes.includes(scope) || optionalScopes.includes(scope));
  const badgeOf = (scope: string): Badge => (requiredScopes.includes(scope) ? { badge: 'Required', tone: 'good' } : { badge: 'Optional', tone: 'off' });
  return renderFacts(asked.map((scope) => [scope, html`${scopeDescriptions[scope].description} ${renderBadge(badgeOf(scope))}`]));
}
