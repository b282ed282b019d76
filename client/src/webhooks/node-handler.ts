// In charge of receiving in Node: `node:http`, Express and whatever else hands its request and response on.
import { SchoolbellError } from '../errors.ts';
import { bodyParsed, receive, type HandlerOptions } from './receive.ts';
import { concatenate } from './verify.ts';

/** What is used of `node:http`, and of Express. */
export type NodeRequest = {
  method?: string | undefined;
  url?: string | undefined;
  originalUrl?: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body?: unknown;
  readableDidRead: boolean;
  readableEnded: boolean;
  on(event: 'data' | 'end' | 'error' | 'close', listener: (value: Uint8Array) => void): unknown;
  pause(): unknown;
};
export type NodeResponse = { readonly headersSent: boolean; writeHead(status: number, headers: Record<string, string>): unknown; end(text: string): unknown };

/** In Express, before anything that parses bodies. */
export function nodeHandler(options: HandlerOptions): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  return async (request, response) => {
    const { method = 'GET', url = '/', originalUrl = url, headers } = request;
    const reply = await receive(options, { method, url: originalUrl, headers, read: (maxBytes) => findBody(request, maxBytes) });
    // A time limit of the caller's may have answered before.
    if (response.headersSent) return;
    response.writeHead(reply.status, reply.headers);
    response.end(reply.message);
  };
}

async function findBody(request: NodeRequest, maxBytes: number): Promise<Uint8Array | undefined> {
  const { body } = request;
  if (body instanceof Uint8Array) return body.length > maxBytes ? undefined : body;
  if (!request.readableDidRead && !request.readableEnded) return readBody(request, maxBytes);
  if (request.headers['transfer-encoding'] === undefined && Number(request.headers['content-length'] ?? 0) === 0) return new Uint8Array();
  throw bodyParsed();
}

function readBody(request: NodeRequest, maxBytes: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let length = 0;
    request.on('data', (chunk) => {
      length += chunk.length;
      if (length <= maxBytes) chunks.push(chunk);
      else {
        // Nothing more is read; the answer closes the connection.
        request.pause();
        resolve(undefined);
      }
    });
    request.on('end', () => resolve(concatenate(chunks)));
    for (const event of ['error', 'close'] as const) request.on(event, () => reject(new SchoolbellError('The call broke off.', { code: 'network' })));
  });
}
