// In charge of what an operator does to a school's source: another one, tested before it is saved; a test alone; collecting now;
// how the demo's MIS behaves.
import { plainAddress } from '../../../access/plain-addresses.ts';
import { changeSource, longestTrialMs, prepareSource, type SourceSetup } from '../../../collection/change-source.ts';
import { collectAgain } from '../../../collection/component-databases.ts';
import { databaseNames } from '../../../collection/connector.ts';
import { readSettings, setDemoMode, type SourceSettings } from '../../../collection/connector-settings.ts';
import { demoModes } from '../../../collection/connectors/demo/demo-connector.ts';
import { renderSentence } from '../../../collection/import-report.ts';
import { readProviderFields, setupOf } from '../../../collection/pages/provider-fields.ts';
import { SchoolbellError } from '../../../errors.ts';
import { cutText } from '../../../http/cut-text.ts';
import type { Form } from '../../../http/forms.ts';
import { schoolRoute, sourcePath } from '../../links.ts';
import type { Action, Shown } from '../../visit.ts';
import { schoolOf } from '../around.ts';
import { formKinds, formKindOf } from './source-forms.ts';
import { sourcePage } from './source.ts';
import { startedNotices } from './started.ts';

const path = `${schoolRoute}/source`;

export const saveSourceAction: Action = {
  path: `${path}/save`,
  name: 'school edit',
  done: startedNotices.save.started,
  longestMs: longestTrialMs,
  about: (_visit, form) => ({ detail: describeGiven(form) }),
  async run(parts, visit, form) {
    const { changes: db, seal, providers } = parts;
    const { estab } = await schoolOf(parts, visit);
    const setup = parseSetup(form);
    if (isSame(await readSettings(db, seal, estab), setup)) throw new SchoolbellError('conflict', 'Nothing was saved: this is the source already.');
    await changeSource({ db, seal, providers }, estab, setup);
    return { to: sourcePath(estab) };
  },
};

export const testSourceAction: Action = {
  path: `${path}/test`,
  name: 'school source',
  labels: { folder: 'Folder' },
  longestMs: longestTrialMs,
  about: (_visit, form) => ({ detail: describeGiven(form) }),
  async run(parts, visit, form) {
    const { changes: db, seal, providers } = parts;
    const { estab } = await schoolOf(parts, visit);
    const { found } = await prepareSource({ db, seal, providers }, estab, parseSetup(form));
    const secret = form.one('clientSecret') === '' ? '' : ' Type the client secret again to save it.';
    return (await sourcePage.show(parts, { ...visit, typed: form, notice: `It works: ${renderSentence(found)} Nothing was saved.${secret}` })) as Shown;
  },
};

export const collectAction: Action = {
  path: `${path}/collect`,
  name: 'collect',
  done: startedNotices.collect.started,
  about: (_visit, form) => ({ detail: { database: form.one('database') || 'all' } }),
  async run(parts, visit, form) {
    const { estab } = await schoolOf(parts, visit);
    const given = form.one('database');
    const name = databaseNames.find((one) => one === given);
    if (given !== '' && name === undefined) throw new SchoolbellError('invalid_request', 'There is no such database.');
    if ((await collectAgain(parts.changes, estab, name)).length === 0)
      throw new SchoolbellError('conflict', 'There is nothing to collect: this school has no source that can be asked. Upload a package instead.');
    return { to: sourcePath(estab) };
  },
};

export const demoModeAction: Action = {
  path: `${path}/demo-mode`,
  name: 'demo mode',
  done: 'The demo’s MIS behaves otherwise from now on.',
  about: (_visit, form) => ({ detail: { mode: cutText(form.one('mode'), 20) } }),
  async run(parts, visit, form) {
    const { estab } = await schoolOf(parts, visit);
    const mode = demoModes.find((one) => one === form.one('mode'));
    if (!mode) throw new SchoolbellError('invalid_request', `Choose one of ${demoModes.join(', ')}.`);
    const told = await setDemoMode(parts.changes, mode, estab);
    if (told === 0) throw new SchoolbellError('conflict', 'The data of this school does not come from the demo’s MIS.');
    return { to: sourcePath(estab) };
  },
};

function parseSetup(form: Form): SourceSetup {
  const kind = formKinds.find((one) => one === form.one('kind'));
  switch (kind) {
    case 'oneroster':
      return setupOf(readProviderFields(form), form.one('clientSecret'));
    case 'folder':
      if (form.one('folder') === '') throw new SchoolbellError('unprocessable', 'Nothing was saved: name the folder.');
      return { kind: 'csv', folder: form.one('folder') };
    case 'uploads':
      return { kind: 'csv', folder: undefined };
    case 'demo':
    case 'none':
      return { kind };
    default:
      throw new SchoolbellError('invalid_request', 'Choose where the data comes from.');
  }
}

/** Saved once more, it would drop what is held and begin anew. A provider may be: that is a new test and a whole collection. */
function isSame(settings: SourceSettings, setup: SourceSetup): boolean {
  if (setup.kind === 'oneroster' || settings.kind !== setup.kind) return false;
  return setup.kind !== 'csv' || (settings.kind === 'csv' && formKindOf(settings) === formKindOf(setup) && settings.folder === setup.folder);
}

/** Never the secret, nor one in an address. */
function describeGiven(form: Form): Record<string, string> {
  const names = ['kind', 'url', 'tokenUrl', 'version', 'scope', 'clientId', 'folder'] as const;
  const say = (name: (typeof names)[number]) => (name === 'url' || name === 'tokenUrl' ? plainAddress(form.one(name)) : form.one(name));
  return Object.fromEntries(names.flatMap((name) => (form.one(name) === '' ? [] : [[name, say(name)]])));
}
