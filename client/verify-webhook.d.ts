/** Headers as Node has them, or as fetch has them. */
export type WebhookHeaders = Readonly<Record<string, string | readonly string[] | undefined>> | { get(name: string): string | null };

export class WebhookVerificationError extends Error {}

/** Throws unless one of the secrets signed these bytes just now; gives the webhook-id, the same over repeats. For a GET, give no body. */
export function verifyWebhook(headers: WebhookHeaders, body: string | Uint8Array | undefined, secrets: string | readonly string[], now?: () => number): string;
