// In charge of turning a text into the modules of a QR code, before any look.
import QRCode from 'qrcode';

export type Matrix = Readonly<{
  /** Modules on a side, without the quiet zone. */
  size: number;
  dark(x: number, y: number): boolean;
  /** Finder, timing and alignment patterns, format and version: what a reader looks for first. */
  fixed(x: number, y: number): boolean;
}>;

export const quietModules = 4;

/** Short texts get room around the picture: version 5 has 37 modules, where 30 % hides an eighth of the code, and holds 44 bytes at level H. */
const roomy = { version: 5, bytes: 44 };

/**
 * One mode for the whole text: the library's mixed segments save a module or two, cost more than drawing does, and
 * make some readers guess the character set piece by piece.
 */
export function encodeText(text: string, withPicture: boolean): Matrix {
  const mode = /^\d+$/.test(text) ? 'numeric' : /^[0-9A-Z $%*+\-./:]+$/.test(text) ? 'alphanumeric' : 'byte';
  const bytes = Buffer.from(text);
  const segment = mode === 'byte' ? { mode, data: bytes } as const : { mode, data: text } as QRCode.QRCodeSegment;
  const { modules } = QRCode.create([segment], {
    errorCorrectionLevel: withPicture ? 'H' : 'M',
    ...(withPicture && bytes.length <= roomy.bytes ? { version: roomy.version } : {}),
  });
  return {
    size: modules.size,
    dark: (x, y) => modules.get(y, x) === 1,
    fixed: (x, y) => modules.isReserved(y, x) === 1,
  };
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
