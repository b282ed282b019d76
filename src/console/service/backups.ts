// In charge of the page of backups: where they go and how often, how they stand, each with what became of it, and how one is
// brought back; and of asking for one now.
import { askForBackup } from '../../backup/plan.ts';
import { listBackupRuns, readBackupStanding, type BackupRun, type BackupStanding, type RunReason, type RunState } from '../../backup/runs.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderBadge, type Badge } from '../../http/pages/badge.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { formatBytes, formatCount, formatDuration } from '../../http/pages/figures.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { renderTable } from '../../http/pages/table.ts';
import type { Verdict } from '../../needs/finding.ts';
import { judgeHere } from '../../needs/judge-backups.ts';
import { renderDoing } from '../doing.ts';
import { pageLength, renderConsole } from '../layout.ts';
import { backupsPath } from '../links.ts';
import type { Action, Page, Visit } from '../visit.ts';
import { renderId } from './things.ts';

export const backupsPage: Page = {
  path: backupsPath,
  async show({ db, now }, visit) {
    const standing = await readBackupStanding(db, new Date(now()));
    const runs = await listBackupRuns(db, pageLength);
    const body = html`<h1>Backups</h1>
<p class="quiet">The whole database as of one instant, with keys and files, encrypted. Each is restored into a database of its own and compared before it
counts.</p>
${standing ? await renderPlan(visit, standing, now()) : renderNone()}
${runs.length > 0 && renderRuns(runs, standing, now())}
${renderWayBack(standing)}`;
    return renderConsole(visit, { title: 'Backups', section: 'backups', body });
  },
};

export const backUpNowAction: Action = {
  path: `${backupsPath}/now`,
  name: 'backup',
  done: 'A backup is made within a minute or two, by a worker that has the folder.',
  about: () => ({ detail: { now: true } }),
  async run({ changes, now }) {
    await askForBackup(changes, new Date(now()));
    return { to: backupsPath };
  },
};

const setUp = html`<pre class="command"><code>npx schoolbell backup --to &lt;folder&gt; --every 24h --keep 14 --passphrase-file &lt;file&gt;</code></pre>
<p class="quiet">On the machine of a worker, best into a folder of another disk or machine. Keep the passphrase elsewhere too: without it no backup opens.</p>`;

function renderNone(): Html {
  return html`${renderEmpty('No backups are set up. They will be here as soon as this command has been run:')}${setUp}`;
}

const verdicts: Readonly<Record<Verdict, Badge>> = {
  ok: { badge: 'All well', tone: 'good' },
  warn: { badge: 'Look at this', tone: 'wait' },
  fail: { badge: 'Too old', tone: 'bad' },
};

async function renderPlan(visit: Visit, standing: BackupStanding, now: number): Promise<Html> {
  const { plan, underWay } = standing;
  const { verdict, found } = await judgeHere(standing);
  return html`<section class="card" id="plan"><h2>The plan</h2>
<p>${renderBadge(verdicts[verdict])} <bdi>${found}</bdi>.</p>
${plan.moved && setUp}
${renderFacts([
  ['Folder', renderId(plan.folder)],
  ['How often', `every ${formatDuration(plan.everySeconds * 1000)}`],
  ['Kept', `the newest ${formatCount(plan.keep)} good ones`],
  ['Set up', html`${renderAgo(plan.since, now)} by <bdi>${plan.by}</bdi>`],
  underWay && ['Under way', html`since ${renderAgo(underWay.startedAt, now)}`],
])}
${!plan.moved && renderDoing(visit, { path: `${backupsPath}/now`, id: 'now', label: 'Back up now', look: 'second' })}
<p class="quiet">To change it, run <code>backup --to …</code> again; <code>backup --stop</code> ends it and leaves what was made.</p></section>`;
}

const states: Readonly<Record<RunState, Badge>> = {
  writing: { badge: 'Being written', tone: 'busy' },
  written: { badge: 'Not verified yet', tone: 'wait' },
  good: { badge: 'Good', tone: 'good' },
  failed: { badge: 'Failed', tone: 'bad' },
  'cut off': { badge: 'Cut off', tone: 'off' },
};

const reasons: Readonly<Record<RunReason, string>> = { plan: 'by the plan', asked: 'asked for', upgrade: 'before an upgrade' };

function renderRuns(runs: readonly BackupRun[], standing: BackupStanding | undefined, now: number): Html {
  const whereabouts = ({ plan, state, goneAt, trouble }: BackupRun): HtmlValue => {
    if (trouble !== null) return trouble;
    if (goneAt !== null) return html`<span class="quiet">removed ${renderAgo(goneAt, now)}</span>`;
    return state === 'good' && plan !== standing?.plan.id ? html`<span class="quiet">of an earlier plan: look whether it is there</span>` : undefined;
  };
  const table = renderTable({
    id: 'runs',
    caption: 'Newest first',
    columns: ['Backup', 'State', 'Made', 'Why', { label: 'Size', number: true }, { label: 'Took', number: true }, 'Remarks'],
    rows: runs.map((run) => [
      html`${renderId(run.file)} <span class="quiet">on ${run.host}</span>`,
      renderBadge(states[run.state]),
      renderAgo(run.startedAt, now),
      reasons[run.why],
      run.bytes === null ? undefined : formatBytes(run.bytes),
      run.tookMs === null ? undefined : formatDuration(run.tookMs),
      whereabouts(run),
    ]),
    stacked: true,
  });
  return html`<section><h2>What was made</h2>${table}</section>`;
}

function renderWayBack(standing: BackupStanding | undefined): Html {
  const file = standing?.newest?.file ?? '<file>';
  return html`<section class="card" id="way-back"><h2>How one is brought back</h2>
<p>Into an empty database, which <code>DATA_DIR</code> or <code>DATABASE_URL</code> names and nobody else uses, by this version or a later one:</p>
<pre class="command"><code>npx schoolbell restore ${file} --passphrase-file &lt;file&gt;</code></pre>
<p>It is read to its end before anything is changed. Then stop the service that it replaces, start the new one, and set
backups up anew: a restored database does not write into the folder of the one that it came from.</p></section>`;
}
