// The page where a school asks for a link to its pages. It never says whether a school is known.
import { html, type Html } from '../../http/html.ts';
import { renderPage } from './layout.ts';

/** `asked`: the form was sent. `sendsMail`: e-mail is set up; otherwise the operator hands the link to the school. */
export function renderAskLink({ asked, sendsMail }: { asked: boolean; sendsMail: boolean }): string {
  if (!asked) return renderPage({ title: 'The pages of your school', body: renderForm(sendsMail) });
  return renderPage(sendsMail ? { title: 'Look into your mail', body: mailed } : { title: 'Ask the operator for your link', body: notMailed });
}

const mailed = html`<section class="card narrow">
  <h1>Look into your mail</h1>
  <div role="status" id="sent"><p>If we know this school, a link is on its way to its address of record.</p></div>
  <p>
    The link opens for one hour. If nothing comes within a few minutes, look into the folder for unwanted mail, check the name or number of the school,
    or ask the operator of this service which address it has for you.
  </p>
  <p><a href="/school">Ask again</a></p>
</section>`;

const notMailed = html`<section class="card narrow">
  <h1>Ask the operator for your link</h1>
  <div role="status" id="sent"><p>E-mail is not set up on this service, so nothing is mailed. If we know this school, the operator of this service has a link
    for it now.</p></div>
  <p>Ask the operator to hand it to you. It opens for one hour.</p>
  <p><a href="/school">Ask again</a></p>
</section>`;

function renderForm(sendsMail: boolean): Html {
  return html`<section class="card narrow">
<h1>The pages of your school</h1>
<p>Here your school decides which applications may read its data, and sees what each of them has read.</p>
<form method="post" action="/school" id="ask-link">
<div class="field">
<label for="estab">School</label>
<p class="hint" id="estab-hint">The name of your school, or the number under which this service knows it, for example 3804001.</p>
<input type="text" id="estab" name="estab" required maxlength="300" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="estab-hint">
</div>
<button type="submit">${sendsMail ? 'Send a link' : 'Ask for a link'}</button>
</form>
<p class="quiet">${sendsMail
    ? 'There is no password. The link goes to the mail address that we hold for your school, and to no other.'
    : 'There is no password. E-mail is not set up on this service: the operator of the service hands the link to your school.'}</p>
</section>`;
}
