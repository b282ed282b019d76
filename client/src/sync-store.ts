// In charge of what sync() asks of a place that keeps a copy. Each method is one transaction: it happens or it does not. Rows
// are staged out of sight and become the copy at once, together with the list of what that changed.

/** What every record has, whatever else. */
export type Kept = { sourcedId: string; status: string; dateLastModified: string };

/** One record that was read; null: it goes. part: what the guard counts by; place: changes are told in the order of it. */
export type Row = { collection: string; id: string; part: string; place: number; record: Kept | null };

/** before is null for what was added, after for what was removed. */
export type Change = { collection: string; id: string; before: Kept | null; after: Kept | null };

/** Of one collection and part: how many the copy has, how many of them would go, and how many would come. */
export type Part = { collection: string; part: string; had: number; gone: number; come: number };

export type Tally = { collection: string; added: number; changed: number; removed: number };

/** heldUntil: somebody else has it, at most until then. Copy and run are texts that mean nothing to a store. */
export type Opened = { heldUntil: Date } | { copy: string | null; run: string | null };

export type Step = {
  /** What is staged of this collection is forgotten first; true: of every one. */
  clear?: string | true;
  rows?: readonly Row[];
  /** What the copy has of this collection and is not staged is staged to go. */
  rest?: { collection: string; place: number };
};

export type Store = {
  /** Makes what it needs and takes the lease, which ends by itself unless it is renewed. */
  open(holder: string, leaseMs: number): Promise<Opened>;
  /** These renew it, and throw LeaseLost when it is not the holder's any more. */
  renew(holder: string): Promise<void>;
  /** Does the step and notes with it how far the run is. A row whose id is staged already: SameIdTwice, and nothing is done. */
  stage(holder: string, run: string | null, step: Step): Promise<void>;
  /** What is staged becomes the copy, nothing is staged any more and there is no run. keep: what changed is kept until it is told. */
  publish(holder: string, copy: string, keep: boolean): Promise<Tally[]>;
  told(holder: string, upTo: number): Promise<void>;
  /** Gives the lease back, if it is the holder's. */
  close(holder: string): Promise<void>;
  /** What publishing would do. */
  compare(): Promise<Part[]>;
  /** What is to be told first, in its order; upTo is the number of the last of them. */
  changes(most: number): Promise<{ upTo: number; changes: Change[] }>;
  /** The copy, in the order of ids. */
  records(collection: string): Promise<Kept[]>;
};
