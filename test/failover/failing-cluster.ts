// In charge of what a drill needs of a cluster of PostgreSQL servers, whoever looks after it.

export type FailingCluster = {
  /** What the service is given as DATABASE_URL: all hosts, or one proxy in front. */
  databaseUrl: string;
  /** As DATABASE_READ_URL: where it is to read from replicas. */
  databaseReadUrl?: string;
  /**
   * Ends the present primary without warning; resolves when another server takes writes. ending: called in that very moment. meanwhile: whoever
   * decides when the other takes over awaits it first; a cluster that decides by itself need not.
   */
  failOver(how: { ending(): void; meanwhile?: (() => Promise<void>) | undefined }): Promise<void>;
  /** The one that was ended follows again, synchronously. */
  heal(): Promise<void>;
  close(): Promise<void>;
};
