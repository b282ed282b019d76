// In charge of what one sees when a second factor is set up: the QR code, the secret as text, and the recovery codes, once.
import { Html, html } from '../../http/html.ts';
import { renderInput } from '../../http/pages/field.ts';
import { renderForm } from '../../http/pages/form.ts';
import { drawPlain } from '../../identity/draw-code.ts';
import { encodeText } from '../../identity/qr-matrix.ts';
import { makePendingFactor, openPendingFactor, type FactorParts, type PendingFactor } from '../../operators/second-factor.ts';
import type { Operator } from '../../operators/sessions.ts';
import type { ConsoleParts } from '../visit.ts';

export function factorParts({ seal, now, hashing, config }: ConsoleParts): FactorParts {
  return { seal, now, turn: hashing.known, publicUrl: config.publicUrl };
}

/** The secret stays the same while somebody mistypes its first code. */
export function pendingOf(parts: ConsoleParts, operator: Operator, sealed: string): PendingFactor {
  try {
    return openPendingFactor(factorParts(parts), operator, sealed);
  } catch {
    return makePendingFactor(factorParts(parts), operator);
  }
}

export const codeInput = (hint: string) => renderInput({ name: 'code', label: 'Code', type: 'text', autocomplete: 'one-time-code', hint });

type Enrolling = { path: string; token: string; pending: PendingFactor; hidden?: Html | undefined };

export async function renderEnrolling({ path, token, pending, hidden }: Enrolling): Promise<Html> {
  const { svg } = drawPlain(await encodeText(pending.uri, false));
  return html`<ol>
<li><p>Open an authenticator app on your phone, and scan this code with it.</p>
<div class="scan" role="img" aria-label="QR code for an authenticator app">${new Html(svg)}</div>
<p>If you cannot scan it, type this secret into the app: <code class="id" id="secret">${pending.secret.match(/.{1,4}/g)?.join(' ')}</code></p></li>
<li><p>Type the six digits that the app shows.</p>
${renderForm({
  path,
  token,
  id: 'enrol',
  body: html`${hidden}<input type="hidden" name="sealed" value="${pending.sealed}">
${codeInput('They change every thirty seconds.')}
<button type="submit">Switch on</button>`,
})}</li>
</ol>`;
}

export function renderRecoveryCodes(codes: readonly string[], on: { path: string; label: string }): Html {
  return html`<p>If you lose your phone, one of these codes takes the place of the six digits. Each works once. Keep them where you would find them
without your phone: <strong>they are shown this once.</strong></p>
<pre class="command" id="recovery-codes"><code>${codes.join('\n')}</code></pre>
<p><a class="button" href="${on.path}">${on.label}</a></p>`;
}
