// A second reader of QR codes, unrelated to the one that the service uses: ZXing's C++ one, as WebAssembly.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { prepareZXingModule, readBarcodes, type ReadResult } from 'zxing-wasm/reader';

let ready: Promise<unknown> | undefined;

/** The bytes that the picture says; undefined when it says none. */
export async function scanCode(image: Buffer): Promise<Buffer | undefined> {
  const found = await scan(image);
  return found === undefined ? undefined : Buffer.from(found.bytes);
}

/** The text, as the reader understands it by itself, and whether the code says in which character set it is. */
export async function scanText(image: Buffer): Promise<{ text: string; marked: boolean } | undefined> {
  const found = await scan(image);
  return found && { text: found.text, marked: found.hasECI };
}

/** It would fetch its binary from the net if it were not given. */
async function scan(image: Buffer): Promise<ReadResult | undefined> {
  ready ??= prepareZXingModule({
    overrides: { wasmBinary: new Uint8Array(readFileSync(fileURLToPath(import.meta.resolve('zxing-wasm/reader/zxing_reader.wasm')))).buffer },
    fireImmediately: true,
  });
  await ready;
  const { data, info } = await sharp(image).toColourspace('srgb').ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const [found] = await readBarcodes(
    { data: new Uint8ClampedArray(data), width: info.width, height: info.height, colorSpace: 'srgb' },
    { formats: ['QRCode'], maxNumberOfSymbols: 1, textMode: 'Plain' },
  );
  return found;
}
