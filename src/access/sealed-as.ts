// The row and purpose that each encrypted value belongs to. They are authenticated with the value (associated data), so a value that was
// copied to another row, or read for another purpose, does not decrypt. A changed entry makes every stored value of its kind unreadable.

export type SealedAs = readonly [purpose: string, ...row: string[]];

type Binding = (...row: never[]) => SealedAs;

export const sealedAs = {
  tokenKey: (kid: string) => ['token key', kid],
  providerKeys: (id: string) => ['keys of single sign-on', id],
  signingSecret: (rp: string, id: string) => ['signing secret', rp, id],
  schoolSecret: (estab: string, rp: string, id: string) => ['school secret', estab, rp, id],
  connectorCredentials: (estab: string) => ['connector credentials', estab],
  /** The id is that of the delivery, which is also the `webhook-id` of the call. */
  authenticationEvent: (estab: string, rp: string, id: string) => ['authentication event', estab, rp, id],
  inboxKey: (rp: string, id: string) => ['inbox key', rp, id],
  inboxCall: (part: 'head' | 'body', inbox: string, seq: string) => ['inbox call', part, inbox, seq],
  secondFactor: (account: string) => ['second factor', account],
  backupPassphrase: (plan: string) => ['backup passphrase', plan],
  /** Values that leave the service and come back: a cookie and a hidden form field. */
  knownBrowser: () => ['known browser'],
  pendingSecondFactor: (account: string) => ['pending second factor', account],
} as const satisfies Record<string, Binding>;
