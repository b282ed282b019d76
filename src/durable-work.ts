// In charge of what people are told about durable work of each kind, and of trying it again because one of them asks.
import type { Ending } from './collection/collect.ts';
import { collectKind, isAskable, readDatabases, requestCollection } from './collection/component-databases.ts';
import { databaseNames } from './collection/connector.ts';
import type { Db, Sql } from './db/connect.ts';
import { SchoolbellError } from './errors.ts';
import { forgottenKind } from './identity/forgotten-password.ts';
import { withoutSecrets } from './mail/links.ts';
import { mailKind } from './mail/mail.ts';
import { linkKind } from './onboarding/ask-link.ts';
import { operatorLinkKind } from './operators/forgotten-password.ts';
import { findWork, type Work, type WorkState } from './outbox/list-work.ts';
import { replayOne } from './outbox/replay.ts';
import { writebackKind } from './schooldata/submit-marks.ts';

/** about: which one it is, of what may be shown to everybody who looks. */
type Kind = Readonly<{
  label: string;
  about(payload: Work['payload']): string;
  /** How one that failed is tried again, and why it cannot be, if so. */
  failed(db: Db, work: Work): Promise<unknown>;
  refusal?(sql: Sql, work: Work): Promise<string | undefined>;
}>;

const word = (value: unknown) => (typeof value === 'string' ? value : '');
const refuse = (message: string) => {
  throw new SchoolbellError('conflict', message);
};

const kinds = {
  [collectKind]: {
    label: 'Collecting',
    about: ({ database, upload }) => `${word(database)}${upload === undefined ? '' : ', an uploaded package'}`,
    failed: collectAgain,
    refusal: findCollectRefusal,
  },
  [mailKind]: { label: 'Mail', about: ({ to, subject }) => `${withoutSecrets(word(subject))} (to ${word(to)})`, failed: replay },
  [writebackKind]: {
    label: 'Writeback',
    about: ({ trackingId }) => word(trackingId),
    failed: replay,
    refusal: async () => 'The application was told that these marks could not be written; it has to send them again.',
  },
  [linkKind]: { label: 'Link for a school', about: () => '', failed: replay },
  [forgottenKind]: { label: 'Link for a forgotten password', about: () => '', failed: replay },
  [operatorLinkKind]: { label: 'Link for an operator', about: () => '', failed: replay },
} as const satisfies Readonly<Record<string, Kind>>;

/** `work` has a handler for each of these, and for calls. */
export type WorkKind = keyof typeof kinds;
/** Of an older or newer version there may be others. */
const named: Readonly<Record<string, Kind | undefined>> = kinds;

/** The kinds that have a name. */
export const workKinds: readonly { kind: string; label: string }[] = Object.entries(kinds).map(([kind, { label }]) => ({ kind, label }));

export const labelOfWork = (kind: string) => named[kind]?.label ?? kind;
export const describeWork = ({ kind, payload }: Pick<Work, 'kind' | 'payload'>) => named[kind]?.about(payload) ?? '';

export async function requireWork(db: Db, id: string): Promise<Work> {
  const work = await findWork(db, id);
  if (!work) throw new SchoolbellError('not_found', `There is no work ${id.slice(0, 60)}; what was settled is kept for 30 days at most.`);
  return work;
}

const ended: Readonly<Partial<Record<WorkState, string>>> = {
  done: 'This is done; there is nothing to try again.',
  superseded: 'Something newer has taken the place of this; there is nothing to try again.',
  cancelled: 'This was cancelled because it was not wanted any more; there is nothing to try again.',
};

/** Now instead of later, or once more although it had failed. A mail that was only kept is tried as if it were new. */
export async function retryWork(db: Db, id: string): Promise<Work> {
  const work = await requireWork(db, id);
  const why = await findRefusal(db, work);
  if (why !== undefined) throw new SchoolbellError('conflict', why);
  await (work.state === 'failed' ? (named[work.kind]?.failed ?? replay)(db, work) : replay(db, work));
  return work;
}

/** Why it cannot be tried again, if so. */
export async function findRefusal(sql: Sql, work: Work): Promise<string | undefined> {
  const { state, kind, hasBody, lost } = work;
  if (lost) return 'The process that did this has ended without a word. Any worker that runs takes it over by itself; if none does, start one.';
  if (state === 'running') return 'This is under way right now; look at it again in a moment.';
  if (findEnding(work)?.outcome === 'held') return 'This import waits for a decision. It goes on when somebody approves it, and is not tried again.';
  if (kind === mailKind && (state === 'done' || state === 'failed')) {
    if (hasBody) return undefined;
    return 'This mail was sent, and its text erased: its links are for the receiver alone. Let them ask for a new one.';
  }
  return state === 'failed' ? named[kind]?.refusal?.(sql, work) : ended[state];
}

/** Of a collection that was read but not merged: which import says more of it. */
export function findEnding({ kind, state, said }: Work): Ending | undefined {
  const { import: id, outcome } = said ?? {};
  if (kind !== collectKind || typeof id !== 'string') return undefined;
  const isKnown = (outcome === 'held' && state === 'done') || (outcome === 'refused' && state === 'failed');
  return isKnown ? { import: id, outcome } : undefined;
}

/** What ended while somebody looked at it is not done twice. */
async function replay(db: Db, work: Work): Promise<void> {
  const replayed = await replayOne(db, work, work.state);
  if (replayed.length === 0) refuse('This has just gone on without you; look at it again.');
}

const databaseOf = ({ database }: Work['payload']) => databaseNames.find((name) => name === database);
const noSource = 'There is no source that could be asked again.';

async function findCollectRefusal(sql: Sql, work: Work): Promise<string | undefined> {
  const { estab, payload } = work;
  if (payload.upload === undefined) {
    const database = databaseOf(payload);
    return database !== undefined && (await isAskable(sql, estab, database)) ? undefined : noSource;
  }
  return 'A package is not tried again: put right what was wrong with it, and upload it anew.';
}

/** As if it were asked for now: what was collected since makes the old request void. */
async function collectAgain(db: Db, { estab, payload }: Work): Promise<void> {
  const database = databaseOf(payload);
  const asked =
    database !== undefined &&
    (await db.begin(async (tx) => {
      await requestCollection(tx, estab, database, { full: payload.full === true });
      return (await readDatabases(tx, estab)).some(({ name, refreshing }) => name === database && refreshing);
    }));
  if (!asked) refuse(noSource);
}
