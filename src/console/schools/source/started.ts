// Notices of the actions that start an import or a fetch; the page of the school's source shows them.
import type { StartedNotice } from '../../../collection/pages/started-notice.ts';

export const startedNotices = {
  save: { started: 'Saved. If the source has data to read, the first fetch has started.', ended: 'Saved.' },
  collect: { started: 'The data is being fetched.', ended: 'The data was fetched.' },
  upload: { started: 'The upload was received and is being imported.', ended: 'The upload was imported.' },
  approve: { started: 'Approved. The import continues.', ended: 'Approved.' },
} as const satisfies Readonly<Record<string, StartedNotice>>;

export function findStartedNotice(notice: string | undefined): StartedNotice | undefined {
  return Object.values(startedNotices).find(({ started }) => started === notice);
}
