// In charge of what can keep sync() from bringing a copy up to date. Whichever it is, the copy stays as it was.

export class SyncError extends Error {
  override name = 'SyncError';
}

/** Another run has the store. It ends by itself at the latest then, should that run have died. */
export class SyncBusy extends SyncError {
  override name = 'SyncBusy';
  readonly until: Date;
  constructor(until: Date) {
    super(`Another sync() works on this copy; if it died, its lease ends at ${until.toISOString()}.`);
    this.until = until;
  }
}

/** This run stood still for so long that another one took over. */
export class LeaseLost extends SyncError {
  override name = 'LeaseLost';
  constructor() {
    super('The lease on this copy went to another sync(); nothing more is written by this one.');
  }
}

export type Shrinkage = { collection: string; part: string; had: number; gone: number };

/** So much would go that it looks like a mistake. */
export class ShrinkageHeld extends SyncError {
  override name = 'ShrinkageHeld';
  readonly version: string;
  readonly held: readonly Shrinkage[];
  constructor(version: string, held: readonly Shrinkage[]) {
    const numbers = held.map(({ collection, part, had, gone }) => `${gone} of ${had} ${collection}${part && ` (${part})`}`).join(', ');
    super(`Version ${version} would remove ${numbers}. The copy is as it was; if this is right, sync with guard: { allow: true }.`);
    this.version = version;
    this.held = held;
  }
}

/** Records do not say which school they are of, so that two with one id cannot be kept apart. */
export class SameIdTwice extends SyncError {
  override name = 'SameIdTwice';
  readonly collection: string;
  readonly id: string;
  constructor(collection: string, id: string) {
    super(`Two schools have ${collection} with the sourcedId "${id}". Sync each school with its own credentials (variant B), each into a store of its own.`);
    this.collection = collection;
    this.id = id;
  }
}

/** The roster, or what may be seen of it, changed faster than it could be read. */
export class SyncUnsettled extends SyncError {
  override name = 'SyncUnsettled';
}
