// Sources that cannot show which records left.
import type { CollectionName } from '../roster/resource.ts';

export function describeUnreported(leaversUnreported: readonly CollectionName[]): string {
  return (
    'this source does not report leavers: it announces no total (X-Total-Count), so records that it no longer sends stay until it marks them as ' +
    `tobedeleted (${leaversUnreported.join(', ')})`
  );
}
