// In charge of the words for how the schools and targets of an application stand.
import type { SchoolCounts } from '../../onboarding/application-schools.ts';
import type { Troubles } from '../../notifications/target-health.ts';
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { formatCount } from '../../http/pages/figures.ts';

export function renderTroubles({ failing, disabled }: Troubles): Html {
  if (failing + disabled === 0) return renderBadge({ badge: 'No trouble', tone: 'good' });
  const words = [disabled > 0 && `${formatCount(disabled)} disabled`, failing > 0 && `${formatCount(failing)} failing`].filter(Boolean).join(', ');
  return renderBadge({ badge: words, tone: 'bad' });
}

export function renderSchoolCounts({ live, waiting, paused, asked }: SchoolCounts): Html {
  const parts = ([[live, 'live'], [waiting, 'not live yet'], [paused, 'paused'], [asked, 'asked']] as const).filter(([count]) => count > 0);
  if (parts.length === 0) return html`<span class="quiet">none yet</span>`;
  return html`${parts.map(([count, words]) => `${formatCount(count)} ${words}`).join(' · ')}`;
}
