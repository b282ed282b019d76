// In charge of the page where a school asks for a link. It never says whether a school is known.
import { html } from '../../http/html.ts';
import { renderPage } from './layout.ts';

export function renderAskLink({ sent }: { sent: boolean }): string {
  return renderPage(sent ? { title: 'Look into your mail', body: sentBody } : { title: 'The pages of your school', body: askBody });
}

const sentBody = html`<section class="card narrow">
  <h1>Look into your mail</h1>
  <div role="status" id="sent"><p>If we know this school, a link is on its way to its address of record.</p></div>
  <p>
    The link opens for one hour. If nothing comes within a few minutes, look into the folder for unwanted mail, check the name or number of the school,
    or ask the operator of this service which address it has for you.
  </p>
  <p><a href="/school">Ask again</a></p>
</section>`;

const askBody = html`<section class="card narrow">
<h1>The pages of your school</h1>
<p>Here your school decides which applications may read its data, and sees what each of them has read.</p>
<form method="post" action="/school" id="ask-link">
<div class="field">
<label for="estab">School</label>
<p class="hint" id="estab-hint">The name of your school, or the number under which this service knows it, for example 3804001.</p>
<input type="text" id="estab" name="estab" required maxlength="300" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="estab-hint">
</div>
<button type="submit">Send a link</button>
</form>
<p class="quiet">There is no password. The link goes to the mail address that we hold for your school, and to no other.</p>
</section>`;
