// In charge of the JSON object in an answer; whatever is none is an empty one.
import type { ProviderAnswer } from './persistent-call.ts';

export function readObject({ body }: ProviderAnswer): Readonly<Record<string, unknown>> {
  try {
    return asObject(JSON.parse(new TextDecoder().decode(body)));
  } catch {
    return {};
  }
}

export function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
