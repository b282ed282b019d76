// In charge of what walks read with: records of replicas, where there are any and they can answer, else of the primary; what is known of
// versions, which is the same wherever records come from; and the files of lists.
import type { Db } from '../db/connect.ts';
import { createPrefer, type Prefer, type ReplicaHealth } from '../db/replicas.ts';
import type { FolderParts } from '../roster/list-folder.ts';
import type { ListFiles, Reading } from './by-school.ts';
import { openListFiles } from './list-files.ts';
import { createFindParts } from './parts.ts';
import { createRemembered } from './remembered.ts';
import { createFactsReader, RosterMoved } from './roster-facts.ts';
import type { Counted, Reader, Tables } from './statements.ts';

const rememberedTotalsBytes = 4 * 1024 * 1024;

export type Readings = Readonly<{
  prefer: Prefer<Reading>;
  files: ListFiles;
  /** Where names of versions are kept. */
  primary: Db;
  close(): Promise<void>;
}>;

/** A replica can be ahead of a primary that has taken over. */
const isOfReplica = (error: unknown) => error instanceof RosterMoved;

export function openReadings(primary: Tables, replica: Tables | undefined, health: ReplicaHealth, folder: FolderParts): Readings {
  const known = { primary: primary.db, facts: createFactsReader(), totals: createRemembered<Counted>(rememberedTotalsBytes) };
  primary.db.onMoved(() => {
    known.facts.forget();
    known.totals.clear();
  });
  const ofPrimary: Reader = { ...primary, ...known, isReplica: false };
  const ofReplica: Reader | undefined = replica && { ...replica, ...known, isReplica: true };
  const preferReader = createPrefer(ofPrimary, ofReplica, { health, isOfReplica });
  const files = openListFiles(preferReader, primary.db, folder);
  const readingOf = (reader: Reader): Reading => ({ ...reader, files, findParts: createFindParts(reader), prefer: preferReader });
  return {
    prefer: createPrefer(readingOf(ofPrimary), ofReplica && readingOf(ofReplica), { health, isOfReplica }),
    files,
    primary: primary.db,
    close: files.close,
  };
}

/** All of it from one database, without files. */
export function readingFrom(db: Db): Reading {
  const reader: Reader = { db, searches: db, lists: db, primary: db, isReplica: false, facts: createFactsReader(), totals: createRemembered(0) };
  return { ...reader, files: undefined, findParts: createFindParts(reader), prefer: createPrefer(reader, undefined) };
}
