// In charge of encryption with a passphrase, in the format of age (age-encryption.org/v1), so that a backup opens without us.
// Every 64 KiB are sealed for themselves, with their number and whether they are the last: what is cut, moved or changed does not open.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { SchoolbellError } from '../errors.ts';

/** 128 MiB for 0.4 s of a core, the least that is advised for scrypt: half of what age itself takes, and enough room on a small machine. */
export const usualWorkFactor = 17;
const largestWorkFactor = 20;
const firstLine = 'age-encryption.org/v1';
const scryptLabel = 'age-encryption.org/v1/scrypt';
const [keyBytes, fileKeyBytes, saltBytes, tagBytes, nonceBytes] = [32, 16, 16, 16, 12];
const pieceBytes = 64 * 1024;
const longestHeader = 1024;
const cipher = 'chacha20-poly1305';

/** Wrong, cut or changed: whichever it is, nothing of it was taken for true. */
export class DamagedBackup extends SchoolbellError {
  constructor(message: string, cause?: unknown) {
    super('unprocessable', message, { cause });
  }
}

/** Or the beginning of the file, in which alone that shows, is damaged. */
export class WrongPassphrase extends DamagedBackup {}

export async function* sealAge(source: AsyncIterable<Uint8Array>, passphrase: string, workFactor = usualWorkFactor): AsyncGenerator<Buffer> {
  const fileKey = randomBytes(fileKeyBytes);
  const salt = randomBytes(saltBytes);
  const wrapped = seal(await deriveWrapKey(passphrase, salt, workFactor), Buffer.alloc(nonceBytes), fileKey);
  const header = `${firstLine}\n-> scrypt ${encode(salt)} ${workFactor}\n${encode(wrapped)}\n---`;
  yield Buffer.from(`${header} ${encode(macOf(fileKey, header))}\n`);
  const payloadNonce = randomBytes(saltBytes);
  yield payloadNonce;
  const key = derive(fileKey, payloadNonce, 'payload');
  let [number, held, size] = [0, [] as Uint8Array[], 0];
  for await (const bytes of source) {
    held.push(bytes);
    size += bytes.length;
    // The last piece is not empty: what fills a piece waits until more is there.
    if (size <= pieceBytes) continue;
    let rest = Buffer.concat(held);
    for (; rest.length > pieceBytes; rest = rest.subarray(pieceBytes)) yield seal(key, nonceOf(number++, false), rest.subarray(0, pieceBytes));
    [held, size] = [[rest], rest.length];
  }
  yield seal(key, nonceOf(number, true), Buffer.concat(held));
}

export async function* openAge(source: AsyncIterable<Uint8Array>, passphrase: string): AsyncGenerator<Buffer> {
  const pieces = source[Symbol.asyncIterator]();
  try {
    yield* openPieces(pieces, passphrase);
  } finally {
    await pieces.return?.();
  }
}

async function* openPieces(source: AsyncIterator<Uint8Array>, passphrase: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  /** Gives whether there is more than so much. */
  const fill = async (bytes: number): Promise<boolean> => {
    if (rest.length > bytes) return true;
    const [held, size] = [[rest as Uint8Array], { now: rest.length }];
    while (size.now <= bytes) {
      const next = await source.next();
      if (next.done) break;
      held.push(next.value);
      size.now += next.value.length;
    }
    rest = Buffer.concat(held);
    return rest.length > bytes;
  };
  await fill(longestHeader);
  const { fileKey, length } = await openHeader(rest, passphrase);
  rest = rest.subarray(length);
  await fill(saltBytes);
  if (rest.length < saltBytes) throw cut();
  const key = derive(fileKey, rest.subarray(0, saltBytes), 'payload');
  rest = rest.subarray(saltBytes);
  for (let number = 0; ; number += 1) {
    const more = await fill(pieceBytes + tagBytes);
    const piece = more ? rest.subarray(0, pieceBytes + tagBytes) : rest;
    const opened = open(key, nonceOf(number, !more), piece);
    if (!opened || (!more && number > 0 && opened.length === 0)) throw cut();
    yield opened;
    if (!more) return;
    rest = rest.subarray(piece.length);
  }
}

async function openHeader(bytes: Buffer, passphrase: string): Promise<{ fileKey: Buffer; length: number }> {
  const text = bytes.subarray(0, longestHeader).toString('latin1');
  const [whole, header = '', salt = '', factor = '', body = '', mac = ''] =
    /^(age-encryption\.org\/v1\n-> scrypt ([A-Za-z0-9+/]{22}) ([1-9]\d?)\n([A-Za-z0-9+/]{43})\n---) ([A-Za-z0-9+/]{43})\n/.exec(text) ?? [];
  if (whole === undefined) throw new DamagedBackup('this is no backup that was encrypted with a passphrase, or its beginning is damaged');
  if (Number(factor) > largestWorkFactor) throw new DamagedBackup(`opening this file would take 2^${factor} steps: its beginning is damaged`);
  const wrapped = decode(body);
  const fileKey = open(await deriveWrapKey(passphrase, decode(salt), Number(factor)), Buffer.alloc(nonceBytes), wrapped);
  if (!fileKey) throw new WrongPassphrase('the passphrase is wrong, or the beginning of the file is damaged');
  // A letter that stands for the same bytes as another is a change, too.
  const same = encode(decode(salt)) === salt && encode(wrapped) === body && encode(decode(mac)) === mac;
  if (!same || !timingSafeEqual(macOf(fileKey, header), decode(mac))) throw new DamagedBackup('the beginning of the file was changed');
  return { fileKey, length: whole.length };
}

const cut = () => new DamagedBackup('the file is cut off, or was changed: a part of it does not open');

function deriveWrapKey(passphrase: string, salt: Buffer, workFactor: number): Promise<Buffer> {
  const cost = { N: 2 ** workFactor, r: 8, p: 1, maxmem: 2 ** (workFactor + 10) + 2 ** 20 };
  return new Promise((resolve, reject) => {
    scrypt(passphrase, Buffer.concat([Buffer.from(scryptLabel), salt]), keyBytes, cost, (error, key) => (error ? reject(error) : resolve(key)));
  });
}

const derive = (fileKey: Buffer, salt: Uint8Array, info: string) => Buffer.from(hkdfSync('sha256', fileKey, salt, info, keyBytes));
const macOf = (fileKey: Buffer, header: string) => createHmac('sha256', derive(fileKey, Buffer.alloc(0), 'header')).update(header).digest();
const encode = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
const decode = (text: string) => Buffer.from(text, 'base64');

function nonceOf(number: number, last: boolean): Buffer {
  const nonce = Buffer.alloc(nonceBytes);
  nonce.writeBigUInt64BE(BigInt(number), 3);
  nonce[nonceBytes - 1] = last ? 1 : 0;
  return nonce;
}

function seal(key: Buffer, nonce: Buffer, bytes: Uint8Array): Buffer {
  const sealing = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes });
  return Buffer.concat([sealing.update(bytes), sealing.final(), sealing.getAuthTag()]);
}

function open(key: Buffer, nonce: Buffer, bytes: Buffer): Buffer | undefined {
  if (bytes.length < tagBytes) return undefined;
  const opening = createDecipheriv(cipher, key, nonce, { authTagLength: tagBytes });
  opening.setAuthTag(bytes.subarray(bytes.length - tagBytes));
  try {
    return Buffer.concat([opening.update(bytes.subarray(0, bytes.length - tagBytes)), opening.final()]);
  } catch {
    return undefined;
  }
}
