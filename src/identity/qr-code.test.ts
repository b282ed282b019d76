// Random texts and pictures of every kind: a code that two unrelated readers read, of the promised make, and memory flat.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import sharp from 'sharp';
import { goodPictures, servePictures } from '../../test/pictures.ts';
import { scanCode, scanText } from '../../test/scan-code.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { createOutbound, type Outbound } from '../http/outbound.ts';
import { artLooks } from './art-code.ts';
import { dotLooks, drawDots } from './dot-code.ts';
import { pictureLimits } from './fetch-picture.ts';
import { generateQrCode, type QrFormat } from './qr-code.ts';
import { parseQrRequest, qrTypes, type QrRequest } from './parse-qr-request.ts';
import { encodeText, quietModules } from './qr-matrix.ts';
import { readsBack } from './read-back.ts';

const codes = 20;
const mostGrowth = 150 * 1024 * 1024;
const pictures = await goodPictures();

function cut(text: string, bytes: number): string {
  let most = text;
  while (Buffer.byteLength(most) > bytes) most = Array.from(most).slice(0, -Math.max(1, Math.ceil((Buffer.byteLength(most) - bytes) / 4))).join('');
  return most;
}

const characters = ['0123456789', 'ABCXYZ0189 $%*+-./:', 'abc xyz ,;!?"<>&\'\\\n\t', 'äéîõüßñçŁž', '😀👩‍👩‍👧🏳️‍🌈', '学校の鐘', 'مدرسة', '\ufeff\u0001\u007f'];
const texts = fc.oneof(
  {
    weight: 10,
    arbitrary: fc
      .constantFrom(...characters)
      .chain((set) => fc.array(fc.constantFrom(...Array.from(set)), { minLength: 1, maxLength: 80 }))
      .map((parts) => parts.join('')),
  },
  { weight: 4, arbitrary: fc.webUrl({ withQueryParameters: true }) },
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }) },
  { weight: 1, arbitrary: fc.constantFrom('a', '7', 'é', '😀').map((one) => one.repeat(2_000)) },
);
const kinds = fc.constantFrom(undefined, ...Object.keys(pictures));
const formats = fc.constantFrom<QrFormat>('png', 'svg');

suite('QR codes', () => {
  let outbound: Outbound;
  let server: Awaited<ReturnType<typeof servePictures>>;
  before(async () => {
    outbound = createOutbound(parseAllowList(['127.0.0.0/8']), pictureLimits);
    server = await servePictures(pictures);
  });
  after(async () => {
    server.close();
    await outbound.close();
  });

  async function check(request: QrRequest, as: QrFormat): Promise<Buffer> {
    const { contentType, bytes } = await generateQrCode({ outbound }, request, as);
    assert.equal(contentType, as === 'png' ? 'image/png' : 'image/svg+xml');
    const { format, width, height } = await sharp(bytes).metadata();
    const modules = (await encodeText(request.text, request.picture !== undefined)).size + 2 * quietModules;
    assert.equal(format, as);
    assert.ok(width === height && width % modules === 0 && width >= 4 * modules && width >= 300 && width <= 1500, `${width} pixels for ${modules} modules`);
    assert.deepEqual((await scanCode(bytes))?.toString(), request.text);
    assert.ok(await readsBack(bytes, modules, request.text));
    return bytes;
  }

  test('random texts, pictures, types, sizes and formats are read by two readers; memory is flat', async () => {
    const run = (numRuns: number) =>
      fc.assert(
        fc.asyncProperty(
          texts, kinds, fc.constantFrom(...qrTypes), fc.option(fc.integer({ min: 50, max: 300 }), { nil: undefined }), formats,
          async (text, kind, type, tenths, as) => {
            const request = parseQrRequest({
              text: cut(text, kind === undefined ? 2_000 : 1_200),
              QRType: type,
              centerImagePercent: tenths === undefined ? null : tenths / 10,
              ...(kind === undefined ? {} : { centerImageUrl: server.urlOf(kind) }),
            });
            await check(request, as);
          },
        ),
        { numRuns, endOnFailure: true },
      );
    await run(codes / 5);
    // Whether the largest was among them is chance, and what it takes to read it is kept.
    for (const type of qrTypes) await check({ text: 'large', type, picture: { url: server.urlOf('large'), percent: 30 } }, 'png');
    const before = process.memoryUsage.rss();
    await run(codes - codes / 5);
    const growth = process.memoryUsage.rss() - before;
    assert.ok(growth < mostGrowth, `grew by ${Math.round(growth / 1024 / 1024)} MiB`);
  });

  test('every kind of picture in both types', async () => {
    for (const kind of Object.keys(pictures))
      for (const type of qrTypes) await check({ text: `https://example.org/${kind}`, type, picture: { url: server.urlOf(kind), percent: 30 } }, 'png');
  });

  test('the longest texts', async () => {
    for (const type of qrTypes) await check({ text: '鐘a'.repeat(500), type, picture: undefined }, 'png');
    for (const type of qrTypes) await check({ text: 'é'.repeat(600), type, picture: { url: server.urlOf('noise'), percent: 30 } }, 'svg');
  });

  test('the picture is seen, and takes no more of the width than was asked for', async () => {
    for (const percent of [5, 20, 30]) {
      const png = await check({ text: 'https://example.org/', type: 'QRCode', picture: { url: server.urlOf('tiny'), percent } }, 'png');
      const { data, info } = await sharp(png).raw().toBuffer({ resolveWithObject: true });
      const row = data.subarray(Math.floor(info.height / 2) * info.width * info.channels, (Math.floor(info.height / 2) + 1) * info.width * info.channels);
      const seen = Array.from({ length: info.width }, (_, x) => row[x * info.channels] ?? 0).filter((red) => Math.abs(red - 90) < 3).length;
      const code = (info.width * 37) / (37 + 2 * quietModules);
      assert.ok(seen <= (code * percent) / 100 && seen >= (code * percent) / 100 - 3, `${seen} of ${code} pixels for ${percent} %`);
    }
  });

  test('an art code shows the colours of its picture throughout', async () => {
    const png = await check({ text: 'https://example.org/', type: 'ArtCode', picture: { url: server.urlOf('gradient'), percent: 20 } }, 'png');
    const { data } = await sharp(png).extract({ left: 250, top: 250, width: 250, height: 250 }).raw().toBuffer({ resolveWithObject: true });
    let coloured = 0;
    for (let at = 0; at < data.length; at += 3) if (Math.max(...data.subarray(at, at + 3)) - Math.min(...data.subarray(at, at + 3)) > 12) coloured++;
    assert.ok(coloured > (data.length / 3) * 0.4, `${coloured} of ${data.length / 3} pixels`);
  });

  test('an art code without a picture has a look of its own: round, in colour, and dark enough in each of its looks', async () => {
    const [art, plain] = await Promise.all(qrTypes.toReversed().map((type) => check({ text: 'https://example.org/', type, picture: undefined }, 'png')));
    assert.ok(art && plain);
    const { data, info } = await sharp(art).raw().toBuffer({ resolveWithObject: true });
    assert.equal(info.channels, 3);
    let coloured = 0;
    for (let at = 0; at < data.length; at += 3) {
      const [red = 0, green = 0, blue = 0] = data.subarray(at, at + 3);
      if (Math.max(red, green, blue) - Math.min(red, green, blue) > 40) coloured++;
    }
    assert.ok(coloured > (data.length / 3) * 0.1, `${coloured} of ${data.length / 3} pixels`);
    assert.match((await check({ text: 'https://example.org/', type: 'ArtCode', picture: undefined }, 'svg')).toString(), /stroke-linecap="round"/);
    for (const text of ['7', 'é'.repeat(20), 'https://example.org/'.repeat(40)]) {
      const matrix = await encodeText(text, false);
      for (const dot of dotLooks) {
        const { svg, modules } = drawDots(matrix, dot);
        assert.ok(await readsBack(Buffer.from(svg), modules, text), `${dot} ${text.length}`);
        assert.equal((await scanCode(Buffer.from(svg)))?.toString(), text, `${dot} ${text.length}`);
      }
    }
  });

  test('text beyond ASCII is marked as UTF-8, and nothing else is', async () => {
    for (const [text, marked] of [['Grüße', true], ['学校の鐘', true], ['\u007f', false], ['plain, ascii', false], ['0042', false], ['ABC', false]] as const)
      for (const [type, kind] of [['QRCode', undefined], ['ArtCode', undefined], ['QRCode', 'tiny'], ['ArtCode', 'gradient']] as const) {
        const bytes = await check({ text, type, picture: kind && { url: server.urlOf(kind), percent: 20 } }, 'png');
        assert.deepEqual(await scanText(bytes), { text, marked }, `${type} ${kind} ${text}`);
      }
    // The longest that fit into the roomy code, marked and not, and one more.
    for (const [text, size] of [['a'.repeat(44), 37], ['a'.repeat(45), 41], [`é${'a'.repeat(41)}`, 37], [`é${'a'.repeat(42)}`, 41], ['é', 37]] as const)
      assert.equal((await encodeText(text, true)).size, size, text);
  });

  test('every look of an art code keeps dark and light apart whatever the picture', () => {
    for (const { dot, dotStrength, aroundStrength } of artLooks) {
      const share = (Math.PI / 4) * dot ** 2;
      assert.ok(share * dotStrength + (1 - share) * aroundStrength > 0.55 && dotStrength >= aroundStrength);
    }
  });

  test('a picture that is a code itself is refused, and where it is blended in it is not read', async () => {
    const own = (await generateQrCode({ outbound }, parseQrRequest({ text: 'https://other.example/' }), 'png')).bytes;
    const codes = await servePictures({
      own,
      'without margin': await sharp(own).trim().png().toBuffer(),
      inverted: await sharp(own).negate().png().toBuffer(),
    });
    for (const name of ['own', 'without margin', 'inverted']) {
      const picture = { url: codes.urlOf(name), percent: 30 };
      await assert.rejects(
        generateQrCode({ outbound }, { text: 'https://example.org/', type: 'QRCode', picture }, 'png'),
        { code: 'unprocessable', message: /is a QR code itself/ },
        name,
      );
      await check({ text: 'https://example.org/', type: 'ArtCode', picture }, 'png');
    }
    codes.close();
  });

  test('what does not say the text is not taken for a code', async () => {
    const { bytes } = await generateQrCode({ outbound }, parseQrRequest({ text: 'one' }), 'png');
    assert.equal(await readsBack(bytes, 29, 'one'), true);
    assert.equal(await readsBack(bytes, 29, 'other'), false);
    assert.equal(await readsBack(pictures['noise'] ?? bytes, 29, 'one'), false);
    assert.equal(await readsBack(await sharp(bytes).extract({ left: 0, top: 0, width: 200, height: 200 }).png().toBuffer(), 29, 'one'), false);
  });
});
