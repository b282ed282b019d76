// In charge of versions that a caller names: what X-Roster-Version says, and which state of each school it asks for when
// it is sent back. What the caller may see is judged now; only the records are of then.
import type { Caller, Reach } from '../access/authenticate.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import type { Query } from '../http/query.ts';
import { parseWish } from './list-request.ts';
import { createRemembered } from './remembered.ts';
import { digest, sightOf, type Sight } from './sight.ts';
import type { Target } from './visibility.ts';

/** A roster, by its id or the beginning of it, at a version. */
type Named = { roster: string; version: number };

export type VersionNames = {
  /** The name of what these schools' rosters are at now. */
  nameOf(reach: readonly Reach[]): Promise<string>;
  /** What was named, if it is known. */
  find(name: string): Promise<readonly Named[] | undefined>;
  /** What was noted may be lost with the server that had it. */
  forget(): void;
};

const oneVersion = /^(\d{1,9})-([0-9a-f]{8})$/;
const severalVersions = /^[\w-]{22}$/;
const notedAgainMs = 3_600_000;
const rememberedBytes = 4 * 1024 * 1024;

/** One school's version is its own name. Those of several are too long for a header, and kept under a short one. */
export function createVersionNames(db: Db, now: () => number = Date.now): VersionNames {
  const noted = createRemembered<number>(rememberedBytes);
  /** A reach that is the same object is the same. */
  const named = new WeakMap<readonly Reach[], string>();

  return {
    async nameOf(reach) {
      const [only, ...others] = reach;
      if (only && others.length === 0) return `${only.version}-${only.rosterId.slice(0, 8)}`;
      const name = named.get(reach) ?? digest(reach.map(({ rosterId, version }) => `${rosterId} ${version}`).join());
      named.set(reach, name);
      if (now() - (noted.get(name) ?? 0) < notedAgainMs) return name;
      const versions = Object.fromEntries(reach.map(({ rosterId, version }) => [rosterId, version]));
      await db`insert into roster_version_set (name, versions) values (${name}, ${db.json(versions)}) on conflict (name) do update set noted_at = now()`;
      noted.set(name, now(), 8);
      return name;
    },
    async find(name) {
      const [, version, roster] = oneVersion.exec(name) ?? [];
      if (version !== undefined && roster !== undefined) return [{ roster, version: Number(version) }];
      if (!severalVersions.test(name)) return undefined;
      const [row] = await db<{ versions: Record<string, number> }[]>`select versions from roster_version_set where name = ${name}`;
      return row && Object.entries(row.versions).map(([id, at]) => ({ roster: id, version: at }));
    },
    forget: () => noted.clear(),
  };
}

export const vary = 'authorization, if-roster-version';

/** If-Roster-Version is a condition; the parameter that our links carry is a wish, and without it, or past it, all is as it stands. */
export async function pinSight(
  names: VersionNames,
  { reach }: Caller,
  sight: Sight,
  { ifRosterVersion, query }: { ifRosterVersion: string | undefined; query: Query },
): Promise<{ sight: Sight; version: string }> {
  const asked = ifRosterVersion ?? parseWish(query);
  const standing = await names.nameOf(reach);
  if (asked === undefined || asked === standing) return { sight, version: standing };
  const named = await names.find(asked);
  const pinned = named && pinTargets(sight.targets, named);
  if (pinned) return { sight: sightOf(pinned), version: asked };
  if (ifRosterVersion === undefined) return { sight, version: standing };
  const message = `The version "${asked.slice(0, 60)}" is not kept, or not of these schools. Begin again without If-Roster-Version.`;
  throw new SchoolbellError('version_gone', message, { headers: { vary } });
}

/** The schools as they were then, without those that were not named; undefined when a version is no longer kept. */
export function pinTargets(targets: readonly Target[], named: readonly Named[]): Target[] | undefined {
  const pinned: Target[] = [];
  for (const target of targets) {
    const found = named.find(({ roster }) => target.rosterId.startsWith(roster));
    if (!found) continue;
    if (found.version < target.keptFrom || found.version > target.current) return undefined;
    pinned.push({ ...target, version: found.version });
  }
  return pinned.length > 0 ? pinned : undefined;
}

/** Of versions of several schools; a single one's needs no keeping. */
export async function forgetVersionNames(db: Db, days: number): Promise<number> {
  const { count } = await db`delete from roster_version_set where noted_at < now() - make_interval(days => ${days})`;
  return count;
}
