// In charge of turning a text into the modules of a QR code, before any look.
import type { QRCodeSegment } from 'qrcode';

export type Matrix = Readonly<{
  /** Modules on a side, without the quiet zone. */
  size: number;
  dark(x: number, y: number): boolean;
  /** Finder, timing and alignment patterns, format and version: what a reader looks for first. */
  fixed(x: number, y: number): boolean;
}>;

export const quietModules = 4;

/** Short texts get room around the picture: version 5 has 37 modules, where 30 % hides an eighth of the code, and holds 368 bits at level H. */
const roomy = { version: 5, bits: 368 };

/** A part of what a code says, as the library writes it: the mode's four bits, how much there is in as many bits as ccBits says for the version, the bits. */
type Segment = Readonly<{
  mode: Readonly<{ id: string; bit: number; ccBits: readonly [upTo9: number, upTo26: number, above: number] }>;
  getLength(): number;
  getBitsLength(): number;
  write(bits: { put(value: number, length: number): void }): void;
}>;

/** Says that the bytes which follow are UTF-8; without it readers guess. ISO/IEC 18004 numbers it 26, in eight bits, as a length would be. */
const utf8Mark: Segment = { mode: { id: 'ECI', bit: 0b0111, ccBits: [8, 8, 8] }, getLength: () => 26, getBitsLength: () => 0, write: () => {} };

function byteSegment(bytes: Buffer): Segment {
  return {
    mode: { id: 'Byte', bit: 0b0100, ccBits: [8, 16, 16] },
    getLength: () => bytes.length,
    getBitsLength: () => 8 * bytes.length,
    write: (bits) => bytes.forEach((byte) => bits.put(byte, 8)),
  };
}

/** The library makes segments of a list by reducing it, and knows no marks; these are made already. */
class MadeSegments extends Array<Segment> {
  override reduce(): never {
    return Array.from(this) as never;
  }
}

/**
 * One mode for the whole text: the library's mixed segments save a module or two, cost more than drawing does, and
 * make some readers guess the character set piece by piece. The library is loaded with the first code.
 */
export async function encodeText(text: string, withPicture: boolean): Promise<Matrix> {
  const { default: QRCode } = await import('qrcode');
  const { modules } = QRCode.create(segmentsOf(text), {
    errorCorrectionLevel: withPicture ? 'H' : 'M',
    ...(withPicture && bitsOf(text) <= roomy.bits ? { version: roomy.version } : {}),
  });
  return {
    size: modules.size,
    dark: (x, y) => modules.get(y, x) === 1,
    fixed: (x, y) => modules.isReserved(y, x) === 1,
  };
}

const isAscii = (text: string) => Buffer.byteLength(text) === text.length;

function segmentsOf(text: string): QRCodeSegment[] {
  if (/^\d+$/.test(text)) return [{ mode: 'numeric', data: text }];
  if (/^[0-9A-Z $%*+\-./:]+$/.test(text)) return [{ mode: 'alphanumeric', data: text }];
  const bytes = Buffer.from(text);
  if (isAscii(text)) return [{ mode: 'byte', data: bytes }];
  return MadeSegments.of<Segment>(utf8Mark, byteSegment(bytes)) as unknown as QRCodeSegment[];
}

/** At most, in a code of up to version 9. */
function bitsOf(text: string): number {
  return (isAscii(text) ? 0 : 12) + 12 + 8 * Buffer.byteLength(text);
}

/** The modules that a test picks, as a path: one rectangle for each run in a row. */
export function drawRuns({ size }: Matrix, picks: (x: number, y: number) => boolean): string {
  let path = '';
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      if (!picks(x, y)) continue;
      const start = x;
      while (x + 1 < size && picks(x + 1, y)) x++;
      path += `M${start + quietModules} ${y + quietModules}h${x + 1 - start}v1h${start - x - 1}z`;
    }
  }
  return path;
}
