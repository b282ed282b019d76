// Covers links in mails: which are ours, and that nothing is left of any that could open something.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitLinks, withoutSecrets } from './links.ts';

const secret = 'Zk3-_9vQ0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1w';
const ours = 'https://bell.example/sub';

test('only addresses below our own are links, and what ends a sentence is none of them', () => {
  const text = `See ${ours}/school/open/${secret}. Not https://evil.example/x, not https://bell.example/other, not https://bell.example/subway,
not https://me@bell.example/sub/a, not javascript:alert(1), not ${ours.replace('https', 'ftp')}/x, but (${ours}).`;
  const pieces = splitLinks(text, ours);
  assert.deepEqual(pieces.filter(({ link }) => link !== undefined).map(({ link }) => link), [`${ours}/school/open/${secret}`, ours]);
  assert.equal(pieces.map((piece) => piece.text).join(''), text, 'nothing is lost');
});

test('of every address only plain words are left', () => {
  for (const [given, left] of [
    [`https://bell.example/school/open/${secret}`, 'https://bell.example/school/open/…'],
    [`Open https://bell.example/register/${secret}.`, 'Open https://bell.example/register/….'],
    [`https://bell.example/console/operators/invited/${secret}/more`, 'https://bell.example/console/operators/invited/…'],
    ['https://bell.example/login?key=abc', 'https://bell.example/login/…'],
    ['https://bell.example/login#abc', 'https://bell.example/login/…'],
    ['https://user:password@bell.example/x', 'https://bell.example/x'],
    ['https://bell.example/school/open/Short1', 'https://bell.example/school/open/…'],
    ['https://bell.example/school/open/%61bcdef', 'https://bell.example/school/open/…'],
    [`HTTPS://BELL.EXAMPLE/school/open/${secret}`, 'https://bell.example/school/open/…'],
    ['https://bell.example/school', 'https://bell.example/school'],
    ['https://[nonsense', '…'],
    [`the code ${secret} alone`, 'the code … alone'],
    [`cut by\nhttps://bell.example/school/\n${secret}`, 'cut by\nhttps://bell.example/school\n…'],
    ['Dear Ann, nothing opens here.', 'Dear Ann, nothing opens here.'],
  ] as const)
    assert.equal(withoutSecrets(given), left);
});
