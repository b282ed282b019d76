// In charge of an operator giving a package for a school, as the school itself does on its page.
import { findHeld } from '../../../collection/held.ts';
import { describeConnector } from '../../../collection/pages/database-words.ts';
import { takePackage } from '../../../collection/take-package.ts';
import { largestUpload, longestUploadMs } from '../../../collection/uploads.ts';
import { SchoolbellError } from '../../../errors.ts';
import { html } from '../../../http/html.ts';
import { renderCheck } from '../../../http/pages/field.ts';
import { renderConsole } from '../../layout.ts';
import { heldPath, schoolRoute, sourcePath, uploadPath } from '../../links.ts';
import { mayChange, type Action, type Page, type Visit } from '../../visit.ts';
import { schoolOf } from '../around.ts';
import { startedNotices } from './started.ts';

const path = `${schoolRoute}/source/upload`;

export const uploadPage: Page = {
  path,
  async show(parts, visit) {
    const { db, uploads } = parts;
    const school = await schoolOf(parts, visit);
    const { estab } = school;
    const held = await findHeld(db, estab);
    const most = (uploads.largest ?? largestUpload) / 1024 ** 2;
    // The token stands in the address: it has to be known before the file comes.
    const action = `${uploadPath(estab)}/send?token=${encodeURIComponent(visit.token)}`;
    const elsewhere = school.connector !== null && school.connector !== 'csv';
    const form = html`<form method="post" action="${action}" enctype="multipart/form-data" id="upload">
${renderCheck({ name: 'partial', label: 'Leave out records that break a rule', checked: false, hint: 'Otherwise one of them refuses the whole package.' })}
${school.connector === 'oneroster' && renderCheck({
  name: 'change',
  label: 'Packages take the place of the provider from now on',
  checked: false,
  hint: 'Its credentials are erased. Without this, nothing is taken: it would be undone when the provider is collected next.',
})}
<div class="field"><label for="package">Package</label>
<p class="hint" id="package-hint">A zip of OneRoster CSV files, ${most} MB at most. A large loss is held until somebody approves it.</p>
<input type="file" id="package" name="package" accept=".zip" required aria-describedby="package-hint"></div>
<button type="submit">Upload</button></form>`;
    return renderConsole(visit, {
      title: `Upload for ${school.name}`,
      section: 'schools',
      back: { path: sourcePath(estab), label: `Source of ${school.name}` },
      body: html`<h1>Upload a package</h1><section class="card narrow" aria-label="Upload a package"><p>For <strong><bdi>${school.name}</bdi></strong>.</p>
${elsewhere && html`<p class="caution">The data of this school comes from elsewhere: ${describeConnector(school.connector)}.</p>`}
${held && html`<p class="caution">An import waits for approval. An upload takes its place: <a href="${heldPath(estab)}">see what would be deleted</a>.</p>`}
${mayChange(visit) ? form : html`<p class="quiet">Your role is viewer: an admin uploads packages.</p>`}</section>`,
    });
  },
};

export const uploadAction: Action = {
  path: `${path}/send`,
  name: 'import',
  done: startedNotices.upload.started,
  longestMs: longestUploadMs,
  file: true,
  about: ({ file }) => ({ detail: { ...(ticked(file, 'partial') && { partial: true }), ...(ticked(file, 'change') && { inPlaceOfProvider: true }) } }),
  async run(parts, visit) {
    const { changes: db, seal, uploads } = parts;
    const { estab } = await schoolOf(parts, visit);
    const { file } = visit;
    if (!file) throw new SchoolbellError('invalid_request', 'Choose the zip that the MIS has exported.');
    await takePackage({ db, seal, uploads }, estab, file.file, { change: ticked(file, 'change'), partial: ticked(file, 'partial') });
    return { to: sourcePath(estab) };
  },
};

const ticked = (file: Visit['file'], name: 'partial' | 'change') => file?.fields[name] !== undefined;
