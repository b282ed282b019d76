// In charge of trying the API from the pages of an application: an operation is picked, its parameters are filled in, it is sent with a
// token of the application, and the answer is shown with the request as a program.
import { issueToken } from '../../../access/issue-token.ts';
import { requireApplication, type Application } from '../../../access/applications.ts';
import { SchoolbellError } from '../../../errors.ts';
import type { Form } from '../../../http/forms.ts';
import { html, type Html } from '../../../http/html.ts';
import { renderFilters } from '../../../http/pages/filters.ts';
import { renderProse } from '../../../reference/pages/prose.ts';
import { renderSamples } from '../../../reference/samples.ts';
import { planRequest } from '../../../reference/sample-request.ts';
import { renderDoing } from '../../doing.ts';
import { applicationPath, applicationRoute } from '../../links.ts';
import type { Action, ConsoleParts, Page, Shown, Visit } from '../../visit.ts';
import { openApplication, renderApplicationPage } from '../place.ts';
import { renderAnswer, renderPrograms } from './answer.ts';
import { listCredentialChoices, listSchoolChoices, renderFields } from './fields.ts';
import { isTokenName, listCalling, listTryable, mayChangeSomething, tokenSchemes, type Operation, type TokenName } from './operations.ts';
import { readValues, toSample } from './read-values.ts';
import { longestTryMs } from './send.ts';

const path = `${applicationRoute}/try`;

export const tryPage: Page = {
  path,
  developers: true,
  show: (parts, visit) => show(parts, visit),
};

async function show(parts: ConsoleParts, visit: Visit, outcome?: Html): Promise<Shown> {
  const application = await openApplication(parts.db, visit);
  const at = `${applicationPath(application.rp)}/try`;
  const operations = listTryable(parts.trying.readSurfaces);
  const asked = visit.typed?.one('operation') ?? visit.query.one('operation');
  const operation = operations.find(({ key }) => key === asked);
  const choices = operations.map(({ key, verb, path: address, operation: { summary = '' } }) => ({
    value: key, label: `${verb.toUpperCase()} ${address} · ${summary}`,
  }));
  return renderApplicationPage(visit, application, {
    title: 'Try it',
    tab: '/try',
    body: html`<h2>Try it</h2>
<p>Send a request as the application and see its answer. It counts, is limited and is recorded like any other call of the application, and that you
sent it stands in the audit trail. Nobody needs a secret for it.</p>
${renderFilters({ path: at, filters: [{ kind: 'choice', name: 'operation', label: 'Operation', value: operation?.key ?? '', all: 'Choose one', choices }] })}
${operation && (await renderOperation(parts, visit, application, operation))}
${outcome}`,
  });
}

async function renderOperation(parts: ConsoleParts, visit: Visit, { rp }: Application, operation: Operation): Promise<Html> {
  const { summary = '', description = '' } = operation.operation;
  const schools = await listSchoolChoices(parts.db, rp);
  const fields = renderFields(operation, visit.typed, { credentials: listCredentialChoices(operation, parts.trying.demo), schools });
  const form = renderDoing(visit, {
    // The answer stands below the fields, which may be many.
    path: `${applicationPath(rp)}/try/send#answer`,
    id: 'try',
    label: operation.verb === 'get' ? 'Send' : `Send: this may change something at the school or the application`,
    body: html`<input type="hidden" name="operation" value="${operation.key}">${fields}`,
  });
  return html`<section class="card" id="operation"><h3>${summary}</h3>
<p><code>${operation.verb.toUpperCase()} ${operation.path}</code> <a href="${operation.reference}">In the reference</a></p>
${renderProse(description)}
${describeChange(operation)}
${form ?? html`<p>Your role is viewer: what is sent here is done as the application. A school’s roster shows what the application sees of each record.</p>`}
</section>`;
}

/** Said before it is sent. */
function describeChange(operation: Operation): Html | undefined {
  const done = 'what it does is done, as if the application had asked for it.';
  if (operation.verb !== 'get') return html`<p class="box problem" id="changes">This is no dry run: ${done}</p>`;
  const calling = listCalling(operation);
  return calling.length === 0 ? undefined : html`<p class="quiet" id="changes">With ${calling.join(', ')} this is no dry run: ${done}</p>`;
}

/** Whose token, of which kind, and for which school. */
type Chosen = Readonly<{ name: TokenName; rp: string; estab: string | undefined; demo: boolean }>;

function readChoice(parts: ConsoleParts, { credentials }: Operation, rp: string, form: Form): Chosen {
  const given = form.one('credential');
  const demo = given.startsWith('demo ') ? parts.trying.demo : undefined;
  const name = credentials.find((one) => one === given.replace(/^demo /, ''));
  if (!name || (given.startsWith('demo ') && !demo)) throw new SchoolbellError('invalid_request', 'Token: choose one that this operation takes.');
  const { ofSchool } = tokenSchemes[name];
  // Of the demo nothing but its own school is open to all.
  if (demo && !ofSchool) throw new SchoolbellError('invalid_request', 'Token: of the demo only those of its school can be had here.');
  return { name, rp: demo?.rp ?? rp, estab: ofSchool ? (demo?.estab ?? form.one('estab').slice(0, 32)) : undefined, demo: demo !== undefined };
}

function requireOperation(parts: ConsoleParts, form: Form): Operation {
  const operation = listTryable(parts.trying.readSurfaces).find(({ key }) => key === form.one('operation'));
  if (!operation) throw new SchoolbellError('invalid_request', 'Operation: choose one of the list.');
  return operation;
}

export const tryAction: Action = {
  path: `${path}/send`,
  name: 'try operation',
  developers: true,
  longestMs: longestTryMs + 5_000,
  about(_visit, form, parts) {
    const [, ofDemo, name = ''] = /^(demo )?(.*)$/s.exec(form.one('credential')) ?? [];
    const demo = ofDemo === undefined ? undefined : parts.trying.demo;
    // The field of the school is sent along with a token of the application itself, too.
    const estab = isTokenName(name) && tokenSchemes[name].ofSchool ? (demo?.estab ?? form.one('estab').slice(0, 32)) : '';
    const detail = { operation: form.one('operation').slice(0, 100), token: form.one('credential').slice(0, 40) };
    return { ...(estab === '' ? {} : { estab }), detail };
  },
  async run(parts, visit, form) {
    const { rp } = await openApplication(parts.db, visit);
    const operation = requireOperation(parts, form);
    const chosen = readChoice(parts, operation, rp, form);
    const filled = readValues(operation, form, chosen.estab);
    if (chosen.demo && mayChangeSomething(operation, filled.query))
      throw new SchoolbellError('invalid_request', 'The demo is everybody’s: with its token nothing is changed and nobody is called from here.');
    const values = toSample(filled, chosen.name);
    const request = planRequest(operation, values);
    const { clientId } = await requireApplication(parts.db, chosen.rp);
    const { kind, scheme } = tokenSchemes[chosen.name];
    const token = await issueToken(parts.changes, parts.trying.tokens, { kind, rp: chosen.rp, clientId, estab: chosen.estab });
    const answer = await parts.trying.send({ request, authorization: `${scheme} ${token}`, address: visit.request.ip });
    return show(parts, { ...visit, typed: form }, html`${renderAnswer(answer)}${renderPrograms(renderSamples(operation, values))}`);
  },
};
