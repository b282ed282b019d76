// Pictures of every kind that a caller may point to, good and bad, and a server that hands them out.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { crc32, deflateSync } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';

type Pixels = { width: number; height: number; channels: 3 | 4 };

function paint({ width, height, channels }: Pixels, colour: (x: number, y: number, channel: number) => number): Sharp {
  const raw = Buffer.alloc(width * height * channels);
  for (let at = 0; at < raw.length; at++) raw[at] = colour(Math.floor(at / channels) % width, Math.floor(at / channels / width), at % channels);
  return sharp(raw, { raw: { width, height, channels } });
}

const gradient = (x: number, y: number, channel: number) => [x, y, (x + y) / 2][channel] ?? 255;
const noise = (x: number, y: number, channel: number) => (Math.imul(x * 7919 + y * 104_729 + channel * 1_299_709, 2_654_435_761) >>> 24);
const disc = (x: number, y: number, channel: number) => (Math.hypot(x - 128, y - 128) < 110 ? [200, 30, 60, 255] : [0, 0, 0, 0])[channel] ?? 0;
const stripes = (x: number, y: number) => ((x >> 4) + (y >> 4)) % 2 * 255;
const square: Pixels = { width: 256, height: 256, channels: 3 };

export async function goodPictures(): Promise<Record<string, Buffer>> {
  const large = await sharp({ create: { width: 4000, height: 3000, channels: 3, background: '#224488' } })
    .composite([{ input: await paint(square, gradient).png().toBuffer(), tile: true }])
    .jpeg({ quality: 60 })
    .toBuffer();
  return {
    gradient: await paint(square, gradient).jpeg().toBuffer(),
    noise: await paint(square, noise).png().toBuffer(),
    chequered: await paint(square, stripes).png().toBuffer(),
    transparent: await paint({ ...square, channels: 4 }, disc).png().toBuffer(),
    invisible: await paint({ ...square, channels: 4 }, () => 0).webp({ lossless: true }).toBuffer(),
    black: await paint(square, () => 0).webp().toBuffer(),
    tiny: await paint({ width: 1, height: 1, channels: 3 }, () => 90).png().toBuffer(),
    thin: await paint({ width: 3000, height: 1, channels: 3 }, gradient).png().toBuffer(),
    large,
    animated: await sharp(await Promise.all([gradient, noise].map((look) => paint(square, look).png().toBuffer())), { join: { animated: true } })
      .webp()
      .toBuffer(),
    grey: await paint(square, gradient).greyscale().jpeg().toBuffer(),
    cmyk: await paint(square, gradient).toColourspace('cmyk').jpeg().toBuffer(),
    deep: await paint(square, gradient).toColourspace('rgb16').png().toBuffer(),
    turned: await paint({ ...square, width: 128 }, gradient).withMetadata({ orientation: 6 }).jpeg().toBuffer(),
  };
}

export async function badPictures(good: Record<string, Buffer>): Promise<Record<string, Buffer>> {
  const { gradient: jpeg = Buffer.alloc(0), noise: png = Buffer.alloc(0), animated = Buffer.alloc(0) } = good;
  return {
    empty: Buffer.alloc(0),
    text: Buffer.from('This is not a picture.'),
    svg: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><script>alert(1)</script></svg>'),
    gif: await paint(square, gradient).gif().toBuffer(),
    tiff: await paint(square, gradient).tiff().toBuffer(),
    'half a JPEG': jpeg.subarray(0, jpeg.length / 2),
    'half a PNG': png.subarray(0, png.length / 2),
    'half a WebP': animated.subarray(0, 60),
    'only a beginning': png.subarray(0, 8),
    'a damaged PNG': Buffer.concat([png.subarray(0, 5_000), Buffer.alloc(2_000, 0x55), png.subarray(7_000)]),
    'a page named PNG': Buffer.concat([png.subarray(0, 8), Buffer.from('<html><script>alert(1)</script></html>')]),
    bomb: handmadePng(20_000, 20_000, deflateSync(Buffer.alloc(20_000 * 2_501))),
    'a PNG that lies about its size': handmadePng(3_900, 3_900, deflateSync(Buffer.alloc(100))),
    'a PNG of no size': handmadePng(0, 0, deflateSync(Buffer.alloc(0))),
  };
}

/** One bit a pixel. */
function handmadePng(width: number, height: number, data: Buffer): Buffer {
  const chunk = (type: string, content: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), content]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(content.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([1, 0, 0, 0, 0], 8);
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), chunk('IHDR', head), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

/** Every picture under its name, always with a header that lies; other paths answer as the table says. */
export async function servePictures(pictures: Record<string, Buffer>, others: Record<string, (response: ServerResponse) => void> = {}) {
  const server = createServer((request, response) => {
    const name = decodeURIComponent((request.url ?? '/').slice(1));
    const other = others[name];
    if (other) other(response);
    else response.writeHead(pictures[name] ? 200 : 404, { 'content-type': 'text/plain' }).end(pictures[name]);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (name: string) => `http://127.0.0.1:${port}/${encodeURIComponent(name)}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
