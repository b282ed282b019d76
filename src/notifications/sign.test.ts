// Signatures: Standard Webhooks v1 over the exact bytes, checked with the published library where it takes the body,
// and with the verifier given to receivers for every kind of body, through a change of secret, and against tampering.
import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { after, before, mock, suite, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { verifyWebhook, WebhookVerificationError, type WebhookHeaders } from '../../client/verify-webhook.js';
import { renderSignature } from './sign.ts';

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
const [secret, newer, foreign] = [newSecret(), newSecret(), newSecret()];
const id = '0199f0a1-7b1c-7e33-9d10-1f2e3d4c5b6a';
const now = Math.floor(Date.now() / 1000);
// However long it takes until the tests run: what is signed is not old by then.
before(() => mock.timers.enable({ apis: ['Date'], now: now * 1000 }));
after(() => mock.timers.reset());

type Signed = Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>;
function sign(body: Uint8Array | null, secrets: readonly string[] = [secret], timestamp = now): Signed {
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': renderSignature(id, timestamp, body, secrets) };
}
const refuse = (headers: WebhookHeaders, body: string | Uint8Array | undefined, secrets: string | readonly string[] = secret) =>
  assert.throws(() => verifyWebhook(headers, body, secrets), WebhookVerificationError);

const json = Buffer.from('{"Estab":"9990001","Name":"Zoë Ó Briain 😀","Empty":null}');
const bodies: [kind: string, body: Buffer | null][] = [
  ['JSON', json],
  ['a GET, without a body', null],
  ['an empty body', Buffer.alloc(0)],
  ['a form', Buffer.from('estab=9990001&user=Zo%C3%AB+%F0%9F%98%80&note=a%26b%3Dc%2Bd%25&empty=&twice=1&twice=2')],
  ['bytes that are no text', Buffer.from([0, 255, 254, 0x80, 10, 13, 46, 0])],
  ['a mebibyte', Buffer.alloc(1024 * 1024, 'Zoë,')],
];

test('the published vector', () => {
  const vector = renderSignature('msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, Buffer.from('{"test": 2432232314}'), ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']);
  assert.equal(vector, 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test('the published library accepts JSON and empty bodies', () => {
  assert.deepEqual(new Webhook(secret).verify(json, sign(json)), JSON.parse(json.toString()));
  assert.equal(new Webhook(secret).verify('', sign(null)), undefined);
  assert.equal(new Webhook(secret).verify('', sign(Buffer.alloc(0))), undefined);
});

test('the published library takes every kind of event if it is told not to parse, and without that no form', () => {
  const form = Buffer.from('schoolId=9990001&schoolName=Zo%C3%AB&installcomplete=false');
  for (const body of [json, form, null]) assert.equal(new Webhook(secret).verify(body ?? '', sign(body), { jsonParse: false }), undefined);
  assert.throws(() => new Webhook(secret).verify(form, sign(form)), SyntaxError);
  assert.throws(() => new Webhook(secret).verify(form, sign(json), { jsonParse: false }), /No matching signature/);
});

for (const [kind, body] of bodies) {
  suite(`with ${kind}`, () => {
    /** The library decodes a body before it signs, so what is not text changes under it. */
    const text = isUtf8(body ?? Buffer.alloc(0));

    test('the published library makes the same signature, and the verifier for receivers accepts it', () => {
      const signed = sign(body);
      if (text) assert.equal(signed['webhook-signature'], new Webhook(secret).sign(id, new Date(now * 1000), body ?? Buffer.alloc(0)));
      assert.equal(verifyWebhook(signed, body ?? undefined, secret), id);
    });

    test('while the secret changes, the old and the new one both verify, each alone', () => {
      const signed = sign(body, [newer, secret]);
      assert.equal(signed['webhook-signature'].split(' ').length, 2);
      for (const known of [secret, newer, [secret, newer], [foreign, secret], [newer, foreign]])
        assert.equal(verifyWebhook(signed, body ?? undefined, known), id);
      for (const known of text ? [secret, newer] : []) new Webhook(known).verify(body ?? '', signed, { jsonParse: false });
      refuse(signed, body ?? undefined, foreign);
      refuse(sign(body, [newer]), body ?? undefined, secret);
    });

    test('any change of the body fails', () => {
      const signed = sign(body);
      const bytes = body ?? Buffer.alloc(0);
      refuse(signed, Buffer.concat([bytes, Buffer.from(' ')]));
      if (bytes.length === 0) return;
      refuse(signed, undefined);
      refuse(signed, bytes.subarray(0, -1));
      for (const at of bytes.length > 1000 ? [0, bytes.length - 1] : bytes.keys()) {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ 1;
        refuse(signed, changed);
      }
    });
  });
}

test('text and bytes of the same body verify alike', () => {
  assert.equal(verifyWebhook(sign(json), json.toString(), secret), id);
  assert.equal(verifyWebhook(sign(json), new Uint8Array(json), secret), id);
});

suite('headers', () => {
  const signed = sign(json);
  const signature = signed['webhook-signature'];
  const changes: [what: string, change: Record<string, string | string[] | undefined>][] = [
    ['another id', { 'webhook-id': `${id}x` }],
    ['no id', { 'webhook-id': undefined }],
    ['an empty id', { 'webhook-id': '' }],
    ['an id and timestamp that join to the same text', { 'webhook-id': `${id}.${now}`, 'webhook-timestamp': '' }],
    ['another timestamp', { 'webhook-timestamp': String(now - 1) }],
    ['a timestamp with a fraction', { 'webhook-timestamp': `${now}.0` }],
    ['a timestamp that is no number', { 'webhook-timestamp': 'now' }],
    ['a timestamp with a sign', { 'webhook-timestamp': `+${now}` }],
    ['no timestamp', { 'webhook-timestamp': undefined }],
    ['no signature', { 'webhook-signature': undefined }],
    ['an empty signature', { 'webhook-signature': '' }],
    ['a repeated signature header', { 'webhook-signature': [signature, signature] }],
    ['a shortened signature', { 'webhook-signature': signature.slice(0, -4) }],
    ['a signature cut to its version', { 'webhook-signature': 'v1,' }],
    ['a signature without its version', { 'webhook-signature': signature.slice(3) }],
    ['a signature of another version', { 'webhook-signature': signature.replace('v1,', 'v1a,') }],
    ['a signature in another case', { 'webhook-signature': signature.toUpperCase() }],
    ['a lengthened signature', { 'webhook-signature': `${signature}A` }],
    ['the signature of another secret', { 'webhook-signature': renderSignature(id, now, json, [foreign]) }],
  ];
  for (const [what, change] of changes) test(`${what} fails`, () => refuse({ ...signed, ...change }, json));

  test('one changed character anywhere in the signature fails', () => {
    for (const at of Array.from(signature.slice(0, -2)).keys())
      refuse({ ...signed, 'webhook-signature': `${signature.slice(0, at)}${signature[at] === 'A' ? 'B' : 'A'}${signature.slice(at + 1)}` }, json);
  });

  test('a good signature among others is found, wherever it stands', () => {
    const others = ['v1a,AAAA', 'v2,x', '', renderSignature(id, now, json, [foreign])];
    for (const at of [0, 1, 2, 3, 4])
      assert.equal(verifyWebhook({ ...signed, 'webhook-signature': others.toSpliced(at, 0, signature).join(' ') }, json, secret), id);
    refuse({ ...signed, 'webhook-signature': others.join(' ') }, json);
  });

  test('header names are taken in any case', () => {
    assert.equal(verifyWebhook({ 'Webhook-Id': id, 'WEBHOOK-TIMESTAMP': String(now), 'Webhook-Signature': signature, 'x-other': undefined }, json, secret), id);
  });

  test('what the library refuses, the verifier refuses too', () => {
    for (const change of [{ 'webhook-id': 'other' }, { 'webhook-timestamp': String(now - 1) }, { 'webhook-signature': 'v1,AAAA' }]) {
      assert.throws(() => new Webhook(secret).verify(json, { ...signed, ...change }));
      refuse({ ...signed, ...change }, json);
    }
  });
});

suite('age', () => {
  const ages: [seconds: number, accepted: boolean][] = [
    [0, true],
    [1, true],
    [299, true],
    [300, true],
    [301, false],
    [3600, false],
    [-299, true],
    [-300, true],
    [-301, false],
    [-86_400, false],
  ];
  for (const [seconds, accepted] of ages) {
    test(`a call signed ${seconds} s ago is ${accepted ? 'accepted' : 'refused'}`, () => {
      const signed = sign(json, [secret], now - seconds);
      const verify = () => verifyWebhook(signed, json, secret, () => now * 1000);
      if (accepted) assert.equal(verify(), id);
      else assert.throws(verify, /five minutes/);
    });
  }

  test('without a clock given, it is now that counts', () => {
    refuse(sign(json, [secret], now - 600), json);
    assert.throws(() => new Webhook(secret).verify(json, sign(json, [secret], now - 600)), /too old/);
  });
});

suite('secrets', () => {
  test('each secret makes its own signature, in the order given', () => {
    assert.equal(renderSignature(id, now, json, [newer, secret]), [newer, secret].map((one) => renderSignature(id, now, json, [one])).join(' '));
    assert.notEqual(renderSignature(id, now, json, [newer]), renderSignature(id, now, json, [secret]));
  });

  test('a receiver may store the secret with or without its prefix', () => {
    assert.equal(verifyWebhook(sign(json), json, secret.replace('whsec_', '')), id);
  });

  test('no secret verifies nothing', () => refuse(sign(json), json, []));

  // A receiver whose setting is missing must not accept calls that anyone can sign.
  test('an empty secret verifies nothing, not even what an empty key signed', () => {
    for (const empty of ['', 'whsec_']) refuse(sign(json, ['whsec_']), json, empty);
  });
});
