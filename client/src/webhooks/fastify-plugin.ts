// In charge of receiving in Fastify: a plugin with a scope of its own, whose bodies stay bytes.
import { maxBytesOf, receive, type HandlerOptions } from './receive.ts';

type FastifyRequest = { method: string; url: string; headers: Readonly<Record<string, string | string[] | undefined>>; body: unknown };
type FastifyReply = { code(status: number): FastifyReply; headers(values: Record<string, string>): FastifyReply; send(text: string): unknown };
type Parser = (request: never, body: Uint8Array, done: (error: Error | null, body?: unknown) => void) => void;

/** What is used of Fastify. */
export type FastifyLike = {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(type: string, options: { parseAs: 'buffer'; bodyLimit: number }, parser: Parser): unknown;
  route(options: { method: ('GET' | 'POST')[]; url: string; handler(request: FastifyRequest, reply: FastifyReply): Promise<unknown> }): unknown;
};

/** app.register(fastifyPlugin({ path: '/events', secret, on })) */
export function fastifyPlugin({ path = '/', ...options }: HandlerOptions & { path?: string | undefined }): (app: FastifyLike) => Promise<void> {
  return async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: maxBytesOf(options) }, (_request, body, done) => done(null, body));
    app.route({
      method: ['GET', 'POST'],
      url: path,
      async handler({ method, url, headers, body }, reply) {
        const read = async () => (body instanceof Uint8Array ? body : new Uint8Array());
        const answer = await receive(options, { method, url, headers, read });
        return reply.code(answer.status).headers(answer.headers).send(answer.message);
      },
    });
  };
}
