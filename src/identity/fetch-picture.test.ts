// Pictures that cannot be had or cannot be used: each answer says which, and nothing of a file passes into a code.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { keepLog } from '../../test/log-lines.ts';
import { badPictures, goodPictures, servePictures } from '../../test/pictures.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { envelopeShape } from '../http/error-shape.ts';
import { createOutbound, type Outbound } from '../http/outbound.ts';
import { createServer } from '../http/server.ts';
import { pictureLimits } from './fetch-picture.ts';
import { generateQrCode, type QrFormat } from './qr-code.ts';
import type { QrType } from './parse-qr-request.ts';

const tooLong = pictureLimits.readBytes + 1;

suite('a picture that is fetched', () => {
  const allowed = parseAllowList(['127.0.0.0/8']);
  const outbound = createOutbound(allowed, pictureLimits);
  const impatient = createOutbound(allowed, { ...pictureLimits, totalMs: 700 });
  let bad: Record<string, Buffer>;
  let server: Awaited<ReturnType<typeof servePictures>>;
  const generate = (url: string, type: QrType = 'QRCode', as: QrFormat = 'png', by: Outbound = outbound) =>
    generateQrCode({ outbound: by }, { text: 'https://example.org/', type, picture: { url, percent: 20 } }, as);

  before(async () => {
    const good = await goodPictures();
    const { noise: png = Buffer.alloc(0) } = good;
    bad = await badPictures(good);
    server = await servePictures({ ...good, ...bad, 'with a script': Buffer.concat([png, Buffer.from('<script>alert(1)</script>')]) }, {
      hangs: () => {},
      stalls: (response) => response.writeHead(200, { 'content-length': 1000 }).write(png.subarray(0, 100)),
      breaks: (response) => response.writeHead(200, { 'content-length': png.length }).write(png.subarray(0, 100), () => response.destroy()),
      long: (response) => response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.concat([png], tooLong)),
      endless: (response) => {
        const more = () => response.write(Buffer.alloc(64 * 1024)) ? setImmediate(more) : response.once('drain', more);
        more();
      },
      redirects: (response) => response.writeHead(302, { location: '/gradient' }).end(),
      packed: (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(Buffer.from([0x1f, 0x8b, 8, 0])),
      broken: (response) => response.writeHead(500).end(png),
      nothing: (response) => response.writeHead(204).end(),
    });
  });
  after(async () => {
    server.close();
    await outbound.close();
    await impatient.close();
  });

  const answers: Record<string, RegExp> = {
    missing: /answered 404/, breaks: /connection_reset/, long: /more than 2 MiB/, endless: /more than 2 MiB/,
    redirects: /answered 302, and redirects are not followed/, packed: /content-encoding gzip/, broken: /answered 500/, nothing: /answered 204/,
  };
  for (const [name, why] of Object.entries(answers)) {
    test(`a server that says: ${name}`, () => assert.rejects(generate(server.urlOf(name)), { code: 'unprocessable', message: why }));
  }
  for (const name of ['hangs', 'stalls']) {
    const refusal = { code: 'unprocessable', message: /timeout: no complete answer within 0\.7 s/ };
    test(`a server that ${name}`, () => assert.rejects(generate(server.urlOf(name), 'QRCode', 'png', impatient), refusal));
  }

  const whys: Record<string, RegExp> = {
    bomb: /more than 16 megapixels/, empty: /not a PNG/, text: /not a PNG/, svg: /not a PNG/, gif: /not a PNG/, tiff: /not a PNG/,
  };
  for (const type of ['QRCode', 'ArtCode'] as const) {
    test(`bad pictures in ${type}`, async () => {
      for (const name of Object.keys(bad)) {
        await assert.rejects(generate(server.urlOf(name), type), { code: 'unprocessable', message: whys[name] ?? /cannot be used: it is damaged/ }, name);
      }
    });
  }

  test('addresses and URLs that are not called', async () => {
    const blocked = [
      'http://10.0.0.1/a.png', 'http://169.254.169.254/latest/meta-data', 'http://[::1]/a.png', 'http://192.168.1.1/a.png', 'http://0.0.0.0/a.png',
      'http://[::ffff:10.0.0.1]/',
    ];
    const bad = [
      'file:///etc/passwd', 'ftp://example.org/a.png', 'a.png', 'http://u:p@example.org/', 'http://127.0.0.1:22/', 'http://exa mple.org/',
      `http://example.org/${'a'.repeat(5000)}`,
      'data:image/png;base64,AAAA',
    ];
    for (const url of blocked)
      await assert.rejects(generate(url), { code: 'invalid_request', message: /^"centerImageUrl" cannot be called: .*not a public address/ }, url);
    for (const url of bad) await assert.rejects(generate(url), { code: 'invalid_request', message: /^"centerImageUrl" cannot be called: (The URL|Port)/ }, url);
    await assert.rejects(generate('http://127.0.0.1:65534/'), { code: 'unprocessable', message: /connection_refused/ });
    await assert.rejects(generate('http://no-such-host.invalid/'), { code: 'unprocessable', message: /could not be fetched/ });
  });

  test('the log of an address that is not called has neither its user nor its query', async () => {
    const log = keepLog();
    const app = createServer({ logLevel: 'info', logTo: log, trustProxy: [], shapeFor: () => envelopeShape });
    after(() => app.close());
    app.get('/code', () => generate('http://10.0.0.1/a.png?signature=5ec2e7'));
    app.get('/other', () => generate('http://ada:5ec2e7@example.org/a.png'));
    for (const path of ['/code', '/other']) assert.equal((await app.inject(path)).statusCode, 400);
    assert.deepEqual(log.lines().flatMap(({ detail }) => detail ?? []), ['http://10.0.0.1/a.png', 'http://example.org/a.png']);
    assert.doesNotMatch(log.text(), /5ec2e7/);
  });

  test('an SVG holds pixels that were made anew, and no script', async () => {
    const svg = (await generate(server.urlOf('with a script'), 'QRCode', 'svg')).bytes.toString();
    const embedded = Buffer.from(/data:image\/png;base64,([A-Za-z0-9+/=]+)"/.exec(svg)?.[1] ?? '', 'base64');
    assert.ok(embedded.length > 100 && !embedded.includes('<script') && !svg.includes('<script'));
  });
});
