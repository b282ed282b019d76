// In charge of the promise that a code scans: what is about to be returned is rasterised and read by a decoder that
// shares nothing with the encoder.
import type { Sharp } from 'sharp';
import { loadSharp } from './load-sharp.ts';

/**
 * Pixels for each module. The decoder works on the main thread, 3 ms for a short text and 100 ms for the longest, so
 * the first look is small; being small it is also blurred, as a camera's is. All of 186 sampled codes read at the first;
 * the others are a second chance before something is taken from the picture.
 */
const looks = [3, 4, 5];

export async function readsBack(image: Buffer, modules: number, text: string): Promise<boolean> {
  const sharp = await loadSharp();
  for (const pixels of looks) {
    const side = modules * pixels;
    if (await read(sharp(image).resize(side, side, { kernel: 'linear' }), 'dontInvert') === text) return true;
  }
  return false;
}

const ownSide = 240;
const ownMargin = 24;

/** Whether a picture is a code of its own, which some readers would read in place of the one around it. */
export async function holdsCode(picture: Buffer): Promise<boolean> {
  const sharp = await loadSharp();
  return (
    (await read(
      sharp(picture)
        .resize(ownSide, ownSide, { fit: 'fill' })
        .extend({ top: ownMargin, bottom: ownMargin, left: ownMargin, right: ownMargin, background: '#ffffff' }),
      'attemptBoth',
    )) !== undefined
  );
}

async function read(image: Sharp, inversionAttempts: 'dontInvert' | 'attemptBoth'): Promise<string | undefined> {
  const { default: jsqr } = await import('jsqr');
  const { data, info } = await image.toColourspace('srgb').ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return jsqr.default(new Uint8ClampedArray(data.buffer, data.byteOffset, data.length), info.width, info.height, { inversionAttempts })?.data;
}
