// In charge of the walk of every request to the console: who is there, may they, was the form ours; then the page is shown,
// or the action done with its line in the audit trail.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { audited, type Deed } from '../access/audit-trail.ts';
import { errorCodes, SchoolbellError } from '../errors.ts';
import { formToken, requireFormToken } from '../http/form-token.ts';
import { readFields, readForm, type Form } from '../http/forms.ts';
import { GoTo } from '../http/page-error.ts';
import { redirect, sendPage, sendScriptedPage } from '../http/page-reply.ts';
import type { Query } from '../http/query.ts';
import type { Db } from '../db/connect.ts';
import { findEnd, requireReached } from '../db/replicas.ts';
import { hasOperators } from '../operators/operators.ts';
import { findOperator, type Operator } from '../operators/sessions.ts';
import { findRefusal, requireOwnPlaces } from './admit.ts';
import { inWords } from './in-words.ts';
import { type Action, type ConsoleParts, type Page, type Sent, type Shown, type Visit } from './visit.ts';

export const signInPath = '/console/sign-in';
export const provePath = '/console/second-factor';
/** What the description of the API leaves out. */
export const hidden = { schema: { hide: true } } as const;
/** What a person can put right is said on the page they came from. */
const theirs: ReadonlySet<number> = new Set([400, 404, 409, 422, 429]);
export const isTheirs = (error: unknown): error is SchoolbellError => error instanceof SchoolbellError && theirs.has(errorCodes[error.code].status);

export function servePages(scope: FastifyInstance, parts: ConsoleParts, pages: readonly Page[], actions: readonly Action[]): void {
  requireOwnPlaces([...pages, ...actions]);
  const how = parts.config.mail ? 'mailed' : 'stored';
  const doneOf = new Map(actions.map(({ path, done }) => [slugOf(path), typeof done === 'object' ? done[how] : done]));
  const pageAt = new Map(pages.map((page) => [page.path, page]));

  async function visitOf(request: FastifyRequest, reply: FastifyReply): Promise<Visit> {
    const operator = await requireOperator(parts, request);
    const params = request.params as Record<string, string>;
    // No id has one, and the database takes none.
    if (Object.values(params).some((value) => value.includes('\0'))) throw new SchoolbellError('not_found', 'There is nothing at this address.');
    const query = readFields(request.query as Query);
    return {
      operator,
      actor: { name: operator.signInName, via: 'console', from: request.ip },
      token: formToken(operator.key),
      params,
      query,
      sandbox: parts.config.demo,
      request,
      reply,
      notice: doneOf.get(query.one('done')),
    };
  }

  async function act(action: Action, visit: Visit, form: Form): Promise<FastifyReply> {
    const record = recorderOf(action, visit);
    // What is about nothing that is there is a line as well.
    const { given, about } = await prepare(action, visit, form).catch((error: unknown) => record(undefined, () => Promise.reject(error)));
    const went = await record(about, () => inWords(action.labels ?? {}, () => action.run(parts, given, form)));
    return 'to' in went ? redirect(visit.reply, withDone(went.to, action)) : send(visit.reply, went);
  }

  function recorderOf({ name }: Action, { actor, params: { estab, rp } }: Visit) {
    return <T>(about: Omit<Deed, 'action'> | undefined, work: () => Promise<T>) =>
      audited(parts.changes, actor, { action: name, estab, rp, ...about }, work);
  }

  /** Who may not is told so on no page of the console: its form is not theirs to see. That they tried is a line. */
  async function requireMay(action: Action, visit: Visit, form: Form): Promise<void> {
    requireFormToken(visit.operator.key, form.one('token'));
    const refusal = findRefusal(action, visit);
    if (refusal) await recorderOf(action, visit)(await describe(action, visit, form).catch(() => undefined), () => Promise.reject(refusal));
  }

  /** A file is read as far as its name, with the fields before it: whatever is done with it is noted first. */
  async function prepare(action: Action, visit: Visit, form: Form): Promise<{ given: Visit; about: Omit<Deed, 'action'> | undefined }> {
    const file = action.file && visit.request.isMultipart() ? await visit.request.file() : undefined;
    const given = { ...visit, file };
    return { given, about: await describe(action, given, form) };
  }

  async function describe({ about }: Action, visit: Visit, form: Form): Promise<Omit<Deed, 'action'> | undefined> {
    return about?.(visit, form, parts);
  }

  async function showAgain(action: Action, visit: Visit, form: Form, error: SchoolbellError): Promise<FastifyReply> {
    const page = pageAt.get(action.path.slice(0, action.path.lastIndexOf('/')));
    if (!page) throw error;
    const shown = await page.show(parts, { ...visit, problem: error.message, typed: form });
    return send(visit.reply.code(errorCodes[error.code].status).headers(error.headers), shown);
  }

  /** From where everything is that was done before the page was asked for: whoever did something sees it. */
  async function show(page: Page, visit: Visit): Promise<Shown | Sent> {
    // A file is read while it is sent.
    if (page.path.endsWith('csv')) return page.show(parts, visit);
    let end: string | undefined;
    return parts.prefer(async ({ db, isReplica }) => {
      if (isReplica) await requireReached(db, (end ??= await findEnd(parts.db)));
      return page.show({ ...parts, db }, visit);
    });
  }

  for (const page of pages)
    scope.get(page.path, hidden, async (request, reply) => {
      const visit = await visitOf(request, reply);
      const refusal = findRefusal(page, visit);
      if (refusal) throw refusal;
      return send(reply, await show(page, visit));
    });
  for (const action of actions) {
    const { path, longestMs, file } = action;
    const config: { longestMs?: number } = longestMs === undefined ? {} : { longestMs: typeof longestMs === 'function' ? longestMs(parts) : longestMs };
    scope.post(path, { ...hidden, config }, async (request, reply) => {
      const visit = await visitOf(request, reply);
      const form = file && request.isMultipart() ? visit.query : readForm(request);
      await requireMay(action, visit, form);
      return act(action, visit, form).catch((error: unknown) => {
        if (isTheirs(error)) return showAgain(action, visit, form, error);
        throw error;
      });
    });
  }
}

/** Without a session there is one place to go; with one that is not proven another. */
async function requireOperator({ db }: ConsoleParts, request: FastifyRequest): Promise<Operator> {
  const operator = await findOperator(db, request);
  if (!operator) await requireConsole(db);
  if (!operator) throw new GoTo(request.method === 'GET' ? `${signInPath}?to=${encodeURIComponent(request.url)}` : signInPath);
  if (!operator.proven) throw new GoTo(provePath);
  return operator;
}

export const noConsole = 'There is no console until ADMIN_PASSWORD is set: the password of admin, the first operator, with at least 12 characters. ' +
  'Set it in the environment of the service, start the service again, and sign in here as admin.';

/** With a database of the operator's own nobody may come until they say so. */
export async function requireConsole(db: Db): Promise<void> {
  if (!(await hasOperators(db))) throw new SchoolbellError('not_found', noConsole);
}

export function send(reply: FastifyReply, shown: Shown | Sent): FastifyReply {
  if ('bytes' in shown) return reply.headers(shown.headers).send(shown.bytes);
  const { html, scripted } = shown;
  return scripted ? sendScriptedPage(reply, html) : sendPage(reply, html);
}

/** A word of our own in the address: what it stands for is said, and nothing else that somebody puts there. */
function withDone(to: string, { path, done }: Action): string {
  if (done === undefined) return to;
  const [page = '', place] = to.split('#');
  return `${page}${page.includes('?') ? '&' : '?'}done=${slugOf(path)}${place === undefined ? '' : `#${place}`}`;
}

const slugOf = (path: string) => path.slice('/console/'.length).replaceAll(/\/:?/g, '-');
