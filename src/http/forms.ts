// In charge of what a form of a page sends: taken as a form and as nothing else, its fields decoded strictly.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseQuery, requireWellFormed, type Query } from './query.ts';

export type Form = {
  all(name: string): readonly string[];
  /** Without what stands around it. */
  one(name: string): string;
  /** As it was typed: a password. */
  exact(name: string): string;
};

const formBytes = 64 * 1024;

export function acceptForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string', bodyLimit: formBytes }, (_request, body, done) => {
    done(null, parseQuery(body as string));
  });
}

export function readForm(request: FastifyRequest): Form {
  return readFields((request.body ?? {}) as Query);
}

/** Of an address that a form led to: how many something was, and nothing else that somebody puts there. */
export function readCount(fields: Form, name: string): number | undefined {
  return /^\d{1,7}$/.test(fields.one(name)) ? Number(fields.one(name)) : undefined;
}

export function readFields(query: Query): Form {
  requireWellFormed(query);
  return { all: (name) => query[name] ?? [], one: (name) => query[name]?.[0]?.trim() ?? '', exact: (name) => query[name]?.[0] ?? '' };
}
