// In charge of how a state looks: a word and a shape, whose colour only repeats them.
import { html, type Html } from '../html.ts';

export type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'off';
export type Badge = { badge: string; tone: Tone };

export function renderBadge({ badge, tone }: Badge): Html {
  return html`<span class="badge ${tone}">${badge}</span>`;
}
