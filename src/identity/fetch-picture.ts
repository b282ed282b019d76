// In charge of getting a caller's picture: fetched under the address guard, judged by its bytes and not by its name or
// header, and made into clean pixels of the size that is needed, so that nothing of the file itself is passed on.
import { plainAddress } from '../access/plain-addresses.ts';
import { SchoolbellError } from '../errors.ts';
import { maxUrlCharacters } from '../http/address-guard.ts';
import type { Outbound, OutboundLimits, OutboundResult } from '../http/outbound.ts';
import { version } from '../version.ts';
import { loadSharp } from './load-sharp.ts';

const mebibytes = 2;
/** For the outbound that the caller makes: somebody is waiting for the code. */
export const pictureLimits: OutboundLimits = { connectMs: 5_000, totalMs: 10_000, readBytes: mebibytes * 1024 * 1024, keptBytes: mebibytes * 1024 * 1024 };

const mostMegapixels = 16;
const decodeSeconds = 10;
const white = '#ffffff';
/** A quarter more colour for a picture that black and white dots will dull. As a matrix: `modulate` takes three times as long or more. */
const livelier: [[number, number, number], [number, number, number], [number, number, number]] = [
  [1.197, -0.179, -0.018],
  [-0.053, 1.071, -0.018],
  [-0.053, -0.179, 1.232],
];

export async function fetchPicture(outbound: Outbound, url: string): Promise<Buffer> {
  const result = await outbound.call({
    method: 'GET',
    url,
    headers: { accept: 'image/png, image/jpeg, image/webp', 'user-agent': `Schoolbell/${version}` },
    body: null,
  });
  requireFetched(result, url);
  if (!isPicture(result.response)) {
    const packed = result.headers['content-encoding'];
    throw unusable(
      packed !== undefined && packed !== 'identity'
        ? `it was sent with content-encoding ${packed.slice(0, 40)}, which was not asked for`
        : 'it is not a PNG, JPEG or WebP picture',
    );
  }
  return result.response;
}

function requireFetched({ error, status }: OutboundResult, url: string): void {
  if (error?.class === 'invalid_url' || error?.class === 'blocked_address') {
    const detail = plainAddress(url.slice(0, maxUrlCharacters));
    throw new SchoolbellError('invalid_request', `"centerImageUrl" cannot be called: ${error.message}`, { detail });
  }
  if (error?.class === 'body_too_large') throw unusable(`it has more than ${mebibytes} MiB`);
  if (error) throw unusable(`it could not be fetched (${error.class}: ${error.message})`);
  if (status !== undefined && status >= 300 && status < 400)
    throw unusable(`its server answered ${status}, and redirects are not followed; give the address of the picture itself`);
  if (status !== 200) throw unusable(`its server answered ${status}`);
}

function isPicture(bytes: Buffer): boolean {
  const starts = (hex: string, at = 0) => bytes.subarray(at, at + hex.length / 2).toString('hex') === hex;
  const [png, jpeg, riff, webp] = ['89504e470d0a1a0a', 'ffd8ff', '52494646', '57454250'];
  return starts(png) || starts(jpeg) || (starts(riff) && starts(webp, 8));
}

/** Upright, the first frame only, on white. Contained in a square of that many pixels, or covering it. */
export async function preparePicture(fetched: Buffer, side: number, fit: 'contain' | 'cover'): Promise<{ bytes: Buffer; dataUri: string }> {
  const sharp = await loadSharp();
  try {
    const pixels = sharp(fetched, { limitInputPixels: mostMegapixels * 1_000_000, failOn: 'error', pages: 1 })
      .timeout({ seconds: decodeSeconds })
      .autoOrient()
      .resize(side, side, fit === 'cover' ? { fit } : { fit, background: { r: 255, g: 255, b: 255, alpha: 0 } })
      .flatten({ background: white })
      .toColourspace('srgb');
    const [type, encoded] = fit === 'cover' ? ['jpeg', pixels.recomb(livelier).jpeg({ quality: 88 })] as const : ['png', pixels.png()] as const;
    const made = await encoded.toBuffer();
    return { bytes: made, dataUri: `data:image/${type};base64,${made.toString('base64')}` };
  } catch (error) {
    const { message } = error as Error;
    throw unusable(
      /pixel limit/.test(message)
        ? `it has more than ${mostMegapixels} megapixels`
        : /timeout/.test(message)
          ? `it takes more than ${decodeSeconds} s to decode`
          : 'it is damaged',
      message,
    );
  }
}

function unusable(why: string, detail?: string): SchoolbellError {
  return new SchoolbellError('unprocessable', `The picture of "centerImageUrl" cannot be used: ${why}.`, detail === undefined ? {} : { detail });
}
