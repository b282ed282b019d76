// In charge of the two ways by which a school connects its data, and of changing from one to the other.
import { renderProviderFields, type ProviderGiven } from '../../collection/pages/provider-fields.ts';
import { html, type Html } from '../../http/html.ts';
import { renderForm } from '../../http/pages/form.ts';
import type { School } from '../school-view.ts';

export function renderConnecting({ connector, watched }: School, failed: boolean, token: string, given: ProviderGiven | undefined): Html | undefined {
  if (connector === 'csv')
    return html`<section class="card" aria-labelledby="newer">
      <h2 id="newer">Upload a newer package</h2>
      ${renderUpload(token)}
      <details${failed && html` open`}>
        <summary>Connect a OneRoster provider instead</summary>
        <p class="caution" id="to-provider">
          Your MIS is then read every night, by itself, in the place of
          ${watched ? 'the folder that the operator has set up' : 'packages that you upload'}. What is there now stays until everything was collected once.
          If an unusually large part of it would go with that, because the provider numbers people in
          another way, say, nothing is changed until you have seen who it is and approved it.
        </p>
        ${renderProvider(token, given)}
      </details>
    </section>`;
  if (connector === 'oneroster')
    return html`<section class="card" aria-labelledby="change">
      <h2 id="change">The connection</h2>
      <details${failed && html` open`}>
        <summary>Change the address or the credentials</summary>
        ${renderProvider(token, given)}
      </details>
      <details>
        <summary>Upload packages instead</summary>
        <p class="caution" id="to-upload">
          Your provider is then not read any more, and its credentials are erased. What is there now stays until the package is taken over. If an unusually
          large part of it would go with that, nothing is changed until you have seen who it is and approved it. You can connect the provider again at any time.
        </p>
        ${renderUpload(token, { change: true })}
      </details>
    </section>`;
  if (connector !== null) return undefined;
  return html`<section aria-labelledby="connect">
    <h2 id="connect">Connect your data</h2>
    <p>There are two ways. Take the one that your MIS, the system in which your school keeps its records, offers. You can change to the other later.</p>
    <div class="halves">
      <section class="card" aria-labelledby="by-upload">
        <h3 id="by-upload">Upload a package</h3>
        <p>Good for a start: a zip that your MIS exports. You upload a newer one when things change.</p>
        ${renderUpload(token)}
      </section>
      <section class="card" aria-labelledby="by-provider">
        <h3 id="by-provider">Connect a OneRoster provider</h3>
        <p>Your MIS is then read every night, by itself.</p>
        ${renderProvider(token, given)}
      </section>
    </div>
  </section>`;
}

/** The token stands in the address: a file may come before any field. change: packages take the place of another source. */
function renderUpload(token: string, { change = false }: { change?: boolean } = {}): Html {
  const action = `/school/source/upload?token=${encodeURIComponent(token)}${change ? '&change=upload' : ''}`;
  return html`<form method="post" action="${action}" enctype="multipart/form-data" id="upload">
    <div class="field">
      <label for="package">Package</label>
      <p class="hint" id="package-hint">
        A zip of OneRoster CSV files, 512 MB at most. If anything in it is wrong, nothing is changed and you see what to put right.
      </p>
      <input type="file" id="package" name="package" accept=".zip" required aria-describedby="package-hint" />
    </div>
    <button type="submit">Upload</button>
  </form>`;
}

function renderProvider(token: string, given?: ProviderGiven): Html {
  return renderForm({
    path: '/school/source/provider',
    token,
    id: 'provider',
    body: html`${renderProviderFields(given, { whose: 'your MIS', kept: false })}<button type="submit">Test and connect</button>
      <p class="quiet">The connection is tested first, which can take a moment. Nothing is saved unless it works.</p>`,
  });
}
