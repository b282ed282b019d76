// Messages of a component database that every caller may read, because they count and name no records.

export const fixedMessages = {
  notConnected: 'the school is not connected to a source that has this',
  nothingYet: 'nothing was collected or uploaded yet',
  rosterFirst: 'the roster has to be collected first',
  waiting: 'waits for approval',
  discarded: 'an import that was held was discarded; what was there before stays',
  refused: 'refused, nothing was changed',
  lastRefused: 'the last import was refused, nothing was changed',
  overtaken: 'a newer one was merged while this one was read',
  ourFault: 'something went wrong on our side; it will be tried again',
} as const;

/** Returns the fixed message with which a message begins, without the details that follow it. */
export function findFixedMessage(message: string): string | undefined {
  return Object.values(fixedMessages).find((fixed) => message === fixed || message.startsWith(`${fixed}: `) || message.startsWith(`${fixed}; `));
}
