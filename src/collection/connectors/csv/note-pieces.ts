// In charge of which pieces of a file are known, and of noting those that were read.
import { hash } from 'node:crypto';
import type { FilePieces } from '../../source.ts';
import { NotAsBefore } from '../../taken.ts';

/** Of each piece so much of its digest is kept: more than 128 bits, written in base64. */
const digestCharacters = 22;
/** As of twenty million rows; of more nothing is known in part. */
const mostPieces = 300_000;

export type PieceReading = Readonly<{
  /** What the first line says of the columns: what is known is so only under the same. */
  begin(header: string): void;
  /** Each as often as it was there. */
  isKnown(bytes: Buffer): boolean;
  /** The piece before did not end where a record does, so that neither it nor what follows it means anything alone. */
  spoil(): void;
  noted(): FilePieces | undefined;
}>;

export function notePieces(known: FilePieces | undefined): PieceReading {
  const left = new Map<string, number>();
  let [header, digests, relied, spoiled] = ['', '', false, false];
  return {
    begin(given) {
      header = given;
      if (known?.header !== given) return;
      for (let at = 0; at < known.digests.length; at += digestCharacters) {
        const digest = known.digests.slice(at, at + digestCharacters);
        left.set(digest, (left.get(digest) ?? 0) + 1);
      }
    },
    isKnown(bytes) {
      const digest = hash('sha256', bytes, 'base64').slice(0, digestCharacters);
      digests += digest;
      const times = left.get(digest) ?? 0;
      if (times === 0 || spoiled) return false;
      left.set(digest, times - 1);
      relied = true;
      return true;
    },
    spoil() {
      if (relied) throw new NotAsBefore();
      spoiled = true;
    },
    noted: () => (spoiled || digests.length > mostPieces * digestCharacters ? undefined : { header, digests }),
  };
}
