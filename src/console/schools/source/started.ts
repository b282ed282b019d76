// Notices of the actions that start an import or a fetch; the page of the school's source shows them.
import type { StartedNotice } from '../../../collection/pages/started-notice.ts';

export const startedNotices = {
  save: { started: 'Saved. Where there is something to read, collecting has begun.', ended: 'Saved.' },
  collect: { started: 'The data is being collected.', ended: 'The data was collected.' },
  upload: { started: 'The package was received, and its import has begun.', ended: 'The package was imported.' },
  approve: { started: 'Approved. The import goes on.', ended: 'Approved.' },
} as const satisfies Readonly<Record<string, StartedNotice>>;

export function findStartedNotice(notice: string | undefined): StartedNotice | undefined {
  return Object.values(startedNotices).find(({ started }) => started === notice);
}
