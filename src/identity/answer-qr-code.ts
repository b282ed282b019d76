// In charge of answering GenerateQRCode: as PNG, SVG or JSON, by what the caller accepts.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SchoolbellError } from '../errors.ts';
import type { Outbound } from '../http/outbound.ts';
import type { Query } from '../http/query.ts';
import { parseQrRequest } from './parse-qr-request.ts';
import { generateQrCode } from './qr-code.ts';

export async function answerQrCode(pictures: Outbound, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const wanted = findWanted(request.headers.accept);
  const code = await generateQrCode({ outbound: pictures }, parseQrRequest(withBody(request.query as Query, request.body)), wanted === 'svg' ? 'svg' : 'png');
  if (wanted === 'json') return { ContentType: code.contentType, Data: code.bytes.toString('base64') };
  return reply.type(code.contentType).send(code.bytes);
}

/** The first that is named; PNG unless anything is. */
function findWanted(accept = '*/*'): 'png' | 'svg' | 'json' {
  const types = accept.split(',').map((part) => {
    const [type = '', ...more] = part.trim().toLowerCase().split(';');
    return { type: type.trim(), quality: Number(/q=([\d.]+)/.exec(more.join(';'))?.[1] ?? 1) };
  });
  const [best] = types
    .filter(({ type, quality }) => quality > 0 && ['image/png', 'image/svg+xml', 'application/json'].includes(type))
    .toSorted((a, b) => b.quality - a.quality);
  return best?.type === 'image/svg+xml' ? 'svg' : best?.type === 'application/json' ? 'json' : 'png';
}

/** In a POST the parameters may stand in the body; what stands in both is given twice. */
function withBody(query: Query, body: unknown): Record<string, unknown> {
  if (body === undefined || body === null) return query;
  if (typeof body !== 'object' || Array.isArray(body)) throw new SchoolbellError('invalid_request', 'The body must be a JSON object.');
  const values: Record<string, unknown> = { ...query };
  for (const [name, value] of Object.entries(body)) values[name] = Object.hasOwn(query, name) ? [...(query[name] ?? []), value] : value;
  return values;
}
