/** Headers as Node has them, or as fetch has them. */
export type WebhookHeaders = Readonly<Record<string, string | readonly string[] | undefined>> | { get(name: string): string | null };

export class WebhookVerificationError extends Error {}

/**
 * Throws unless one of the secrets signed these bytes within the last five minutes; gives the webhook-id, under which
 * repeats of the same event arrive. Give the body as it was received; for a GET, nothing. Where `standardwebhooks` is used
 * instead: 1.1 or newer, with `jsonParse: false`, since a GET has no body and an authentication event is a form.
 */
export function verifyWebhook(headers: WebhookHeaders, body: string | Uint8Array | undefined, secrets: string | readonly string[], now?: () => number): string;
