// In charge of GenerateQRCode: encode, fetch, draw, read back. A code that does not read back is drawn again with less
// of the picture, and never returned.
import { SchoolbellError } from '../errors.ts';
import type { Outbound } from '../http/outbound.ts';
import { artLooks, artPicturePixels, drawArt } from './art-code.ts';
import { dotLooks, drawDots } from './dot-code.ts';
import { drawPlain, drawWithPicture, pictureWidth, type Drawing } from './draw-code.ts';
import { fetchPicture, preparePicture } from './fetch-picture.ts';
import { loadSharp } from './load-sharp.ts';
import type { QrRequest } from './parse-qr-request.ts';
import { encodeText } from './qr-matrix.ts';
import { holdsCode, readsBack } from './read-back.ts';

export type QrFormat = 'png' | 'svg';
export type QrImage = Readonly<{ contentType: string; bytes: Buffer }>;

const contentTypes: Record<QrFormat, string> = { png: 'image/png', svg: 'image/svg+xml' };
const smallerPictures = [1, 0.8, 0.6, 0.4];

export async function generateQrCode({ outbound }: { outbound: Outbound }, request: QrRequest, as: QrFormat): Promise<QrImage> {
  for (const draw of await planDrawings(outbound, request)) {
    const drawing = draw();
    const bytes = as === 'svg' ? Buffer.from(drawing.svg) : await rasterise(drawing);
    if (await readsBack(bytes, drawing.modules, request.text)) return { contentType: contentTypes[as], bytes };
  }
  throw new SchoolbellError('unprocessable', `The code could not be read back${request.picture ? ' with this picture; try another or leave it out' : ''}.`);
}

/** The best look first. */
async function planDrawings(outbound: Outbound, { text, type, picture }: QrRequest): Promise<(() => Drawing)[]> {
  const matrix = await encodeText(text, picture !== undefined);
  if (picture === undefined) return type === 'ArtCode' ? dotLooks.map((dot) => () => drawDots(matrix, dot)) : [() => drawPlain(matrix)];
  const fetched = await fetchPicture(outbound, picture.url);
  if (type === 'ArtCode') {
    const { dataUri } = await preparePicture(fetched, artPicturePixels, 'cover');
    return artLooks.map((look) => () => drawArt(matrix, dataUri, look));
  }
  // Twice the pixels that it takes in a PNG, for an SVG that is printed.
  const { dataUri, bytes } = await preparePicture(fetched, Math.round((2 * pictureWidth * picture.percent) / 100), 'contain');
  if (await holdsCode(bytes))
    throw new SchoolbellError('unprocessable', 'The picture of "centerImageUrl" cannot be used: it is a QR code itself, and would be read in place of yours.');
  return smallerPictures.map((share) => () => drawWithPicture(matrix, dataUri, picture.percent * share));
}

/** One channel where there is no colour: half the bytes in half the time. */
async function rasterise({ svg, coloured }: Drawing): Promise<Buffer> {
  const sharp = await loadSharp();
  const pixels = sharp(Buffer.from(svg));
  return (coloured ? pixels.removeAlpha() : pixels.extractChannel(0)).png({ compressionLevel: 6 }).toBuffer();
}
