// A second reader of QR codes, unrelated to the one that the service uses: ZXing's C++ one, as WebAssembly.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { prepareZXingModule, readBarcodes } from 'zxing-wasm/reader';

let ready: Promise<unknown> | undefined;

/** The bytes that the picture says; undefined when it says none. It would fetch its binary from the net if it were not given. */
export async function scanCode(image: Buffer): Promise<Buffer | undefined> {
  ready ??= prepareZXingModule({
    overrides: { wasmBinary: new Uint8Array(readFileSync(fileURLToPath(import.meta.resolve('zxing-wasm/reader/zxing_reader.wasm')))).buffer },
    fireImmediately: true,
  });
  await ready;
  const { data, info } = await sharp(image).toColourspace('srgb').ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const [found] = await readBarcodes(
    { data: new Uint8ClampedArray(data), width: info.width, height: info.height, colorSpace: 'srgb' },
    { formats: ['QRCode'], maxNumberOfSymbols: 1 },
  );
  return found === undefined ? undefined : Buffer.from(found.bytes);
}
