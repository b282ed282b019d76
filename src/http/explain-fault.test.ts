// What to do about a call that failed: there are words for every class and status, and none where nothing failed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainFault, nameFault } from './explain-fault.ts';
import { errorClasses } from './outbound.ts';

test('every class that a call can end with is explained', () => {
  for (const errorClass of [...errorClasses, 'redirect', 'worker_lost', 'handed_back', 'unexpected', 'unstorable', 'not_authorised', 'outdated']) {
    const explained = explainFault({ errorClass, status: null, message: 'detail' }, { over: false });
    assert.match(explained?.what ?? '', /^[A-Z].*\.$/s, errorClass);
    assert.match(explained?.advice ?? '', /\.$/, errorClass);
    assert.doesNotMatch(explained?.what ?? '', /detail/, errorClass);
  }
});

for (const [status, words] of [
  [410, /gone for good.*enable its target/],
  [401, /check the signature/],
  [403, /check the signature/],
  [404, /path is not known/],
  [405, /another method/],
  [418, /refuses this event/],
  [429, /Retry-After/],
  [500, /failed at this event/],
  [503, /down or overloaded/],
  [599, /failed at this event/],
] as const)
  test(`a status of ${status} says what to do`, () => {
    const explained = explainFault({ errorClass: `status_${status}`, status, message: null }, { over: false });
    assert.equal(explained?.what, `The receiver answered ${status}.`);
    assert.match(explained?.advice ?? '', words);
  });

test('nothing is said where nothing failed, and what is not known is said as it is', () => {
  assert.equal(explainFault({ errorClass: null, status: 200, message: null }, { over: true }), undefined);
  assert.match(explainFault({ errorClass: 'new_one', status: null, message: 'strange' }, { over: true })?.what ?? '', /new_one: strange/);
});

test('nobody is told to wait for a try that will not be', () => {
  for (const [errorClass, status] of [['connection_refused', null], ['status_503', 503], ['network_error', null]] as const) {
    const advise = (over: boolean) => explainFault({ errorClass, status, message: null }, { over })?.advice ?? '';
    assert.match(advise(false), /Replay it then, or wait for the next try\.$/);
    assert.match(advise(true), /Replay it then: it is not tried again by itself\.$/);
  }
});

test('a line of a list has no inner words', () => {
  for (const errorClass of errorClasses) assert.doesNotMatch(nameFault({ errorClass, status: null, message: 'detail' }) ?? assert.fail(), /_|detail/);
  assert.equal(nameFault({ errorClass: null, status: 200, message: null }), undefined);
});
