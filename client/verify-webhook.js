// In charge of checking, at the receiver, that a call comes from Schoolbell: Standard Webhooks v1 over the bytes as
// they arrived. It does not parse the body, so that it serves JSON, form and empty bodies alike; `standardwebhooks` before
// 1.1, and after it without `jsonParse: false`, fails on those that are no JSON (see README.md).
import { createHmac, timingSafeEqual } from 'node:crypto';

export class WebhookVerificationError extends Error {}

const toleranceSeconds = 300;

/**
 * Throws unless one of the secrets signed these bytes within the last five minutes; gives the webhook-id, under which
 * repeats of the same event arrive. Give the body as it was received; for a GET, nothing.
 */
export function verifyWebhook(headers, body, secrets, now = Date.now) {
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const signatures = header(headers, 'webhook-signature').split(' ');
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now() / 1000 - Number(timestamp)) > toleranceSeconds)
    throw new WebhookVerificationError('webhook-timestamp is not within five minutes of now');
  for (const secret of typeof secrets === 'string' ? [secrets] : secrets) {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    if (key.length === 0) throw new WebhookVerificationError('the secret is empty');
    const expected = Buffer.from(`v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body ?? '').digest('base64')}`);
    for (const signature of signatures) {
      const given = Buffer.from(signature);
      if (given.length === expected.length && timingSafeEqual(given, expected)) return id;
    }
  }
  throw new WebhookVerificationError('no signature matches these bytes and secrets');
}

function header(headers, name) {
  const value = typeof headers.get === 'function' ? headers.get(name) : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value !== 'string' || value === '') throw new WebhookVerificationError(`${name} is missing`);
  return value;
}
