// Each parameter of GenerateQRCode missing, empty, too long, duplicated, wrong, and right in every spelling.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parseQuery } from '../http/query.ts';
import { parseQrRequest } from './parse-qr-request.ts';

const url = 'https://example.org/a.png';
const picture = { url, percent: 20 };

suite('a request for a QR code', () => {
  const good: [string, Record<string, unknown>, unknown][] = [
    ['text only', { text: 'a' }, { text: 'a', type: 'QRCode', picture: undefined }],
    ['names in any case', { TEXT: ['a'], CENTERIMAGEURL: [url], qrtype: ['ARTCODE'] }, { text: 'a', type: 'ArtCode', picture }],
    ['a percentage as text', { text: 'a', centerImageUrl: url, centerImagePercent: '12.5' }, { text: 'a', type: 'QRCode', picture: { url, percent: 12.5 } }],
    ['a percentage as a number', { text: 'a', centerImageUrl: url, centerImagePercent: 30 }, { text: 'a', type: 'QRCode', picture: { url, percent: 30 } }],
    ['a percentage without a picture has no effect', { text: 'a', centerImagePercent: '20' }, { text: 'a', type: 'QRCode', picture: undefined }],
    ['nor has one that no picture could have', { text: 'a', centerImagePercent: 0 }, { text: 'a', type: 'QRCode', picture: undefined }],
    ['art without a picture', { text: 'a', QRType: 'ArtCode' }, { text: 'a', type: 'ArtCode', picture: undefined }],
    ['null is not given', { text: 'a', centerImageUrl: null, centerImagePercent: null, QRType: null }, { text: 'a', type: 'QRCode', picture: undefined }],
    ['a number as text', { text: 42 }, { text: '42', type: 'QRCode', picture: undefined }],
    ['the longest text', { text: 'é'.repeat(1000) }, { text: 'é'.repeat(1000), type: 'QRCode', picture: undefined }],
    ['the longest text with a picture', { text: 'é'.repeat(600), centerImageUrl: url }, { text: 'é'.repeat(600), type: 'QRCode', picture }],
    ['a query', { ...parseQuery('text=a%20%26+b&QRType=qrcode') }, { text: 'a & b', type: 'QRCode', picture: undefined }],
  ];
  for (const [name, values, request] of good) test(name, () => assert.deepEqual(parseQrRequest(values), request));

  const bad: [string, Record<string, unknown>, RegExp][] = [
    ['no text', {}, /^text is missing/],
    ['null text', { text: null }, /^text is missing/],
    ['empty text', { text: '' }, /^text is empty/],
    ['two texts', { ...parseQuery('text=a&Text=b') }, /^text is given 2 times/],
    ['text that is an object', { text: { a: 1 } }, /^text must be a string/],
    ['text that is true', { text: true }, /^text must be a string/],
    ['text of 2,001 bytes', { text: `é${'a'.repeat(1999)}` }, /2001 bytes .* at most 2000/],
    ['text of 1,201 bytes with a picture', { text: 'a'.repeat(1201), centerImageUrl: url }, /1201 bytes .* with a picture takes at most 1200/],
    ['half a surrogate pair', { text: 'a\ud83d' }, /surrogate/],
    ['an empty URL', { text: 'a', centerImageUrl: '' }, /^centerImageUrl is empty/],
    ['two URLs', { text: 'a', centerImageUrl: [url, url] }, /^centerImageUrl is given 2 times/],
    ['a percentage without a picture that is no number', { text: 'a', centerImagePercent: 'wide' }, /is not a number from 5 to 30/],
    ['an empty percentage', { text: 'a', centerImageUrl: url, centerImagePercent: '' }, /^centerImagePercent is empty/],
    ...['4.9', '30.1', '0', '-5', '1e1', 'NaN', '20%', '0x14', ' 20', '٢٠', '9'.repeat(500)].map((percent): [string, Record<string, unknown>, RegExp] => [
      `a percentage of ${percent.slice(0, 9)}`,
      { text: 'a', centerImageUrl: url, centerImagePercent: percent },
      /is not a number from 5 to 30/,
    ]),
    ['two percentages', { text: 'a', centerImageUrl: url, centerImagePercent: ['20', '20'] }, /^centerImagePercent is given 2 times/],
    ['a type that is none', { text: 'a', QRType: 'Aztec' }, /neither QRCode nor ArtCode/],
    ['an empty type', { text: 'a', QRType: '' }, /^QRType is empty/],
    ['two types', { text: 'a', QRType: 'QRCode', qrtype: 'QRCode' }, /^QRType is given 2 times/],
    ['a parameter that is none', { text: 'a', size: '5' }, /"size" is not a parameter/],
  ];
  for (const [name, values, message] of bad) test(name, () => assert.throws(() => parseQrRequest(values), { code: 'invalid_request', message }));
});
