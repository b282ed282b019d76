// In charge of errors that a person reads: a page that says what happened and where to go on from there.
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import { errorCodes, type SchoolbellError } from '../errors.ts';
import { takesPage } from './accepts-page.ts';
import { envelopeShape, sendError, type ErrorShape } from './error-shape.ts';
import { pageHeaders } from './html.ts';
import { redirect } from './page-reply.ts';
import { renderMessage, type Link } from './pages/message.ts';

/** Thrown where the way leads elsewhere first: to the sign-in, say. */
export class GoTo extends Error {
  readonly path: string;

  constructor(path: string) {
    super(`to ${path}`);
    this.path = path;
  }
}

export function pageErrorShape(back: Link): ErrorShape {
  return {
    contentType: pageHeaders['content-type'] ?? '',
    statuses: {},
    headers: {},
    always: pageHeaders,
    body: (error) => renderMessage({ title: titleOf(errorCodes[error.code].status), text: error.message, link: back }),
  };
}

function titleOf(status: number): string {
  if (status === 404) return 'There is nothing here';
  if (status === 405) return 'This cannot be done here';
  if (status === 413) return 'This is too large';
  if (status === 429) return 'Please wait a moment';
  return status >= 500 ? 'Something went wrong' : 'This did not work';
}

/** back: where a person goes from an error of these pages, which may depend on the page. */
export function usePageErrors(app: FastifyInstance, back: Link | ((request: FastifyRequest, error: Error) => Link)): void {
  app.setErrorHandler((error: FastifyError | SchoolbellError | GoTo, request, reply) => {
    if (error instanceof GoTo) return redirect(reply, error.path);
    const page = () => pageErrorShape(typeof back === 'function' ? back(request, error) : back);
    return sendError(error as FastifyError, takesPage(request.headers.accept) ? page() : envelopeShape, request, reply);
  });
}
