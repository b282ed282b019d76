// In charge of receiving where requests are those of fetch: Deno, Bun, Hono, Next, workers at the edge.
import { bodyParsed, receive, type HandlerOptions } from './receive.ts';
import { concatenate } from './verify.ts';

export function fetchHandler(options: HandlerOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    const read = (maxBytes: number) => readBody(request, maxBytes);
    const { status, message, headers } = await receive(options, { method: request.method, url: request.url, headers: request.headers, read });
    return new Response(message, { status, headers });
  };
}

async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  if (request.bodyUsed) throw bodyParsed();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = request.body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return concatenate(chunks);
    length += value.length;
    if (length > maxBytes) {
      await reader?.cancel();
      return undefined;
    }
    chunks.push(value);
  }
}
