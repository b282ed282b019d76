// In charge of the commands on schools.
import { addEstablishment, listEstablishments, requireEstablishment } from '../access/establishments.ts';
import { requireUsableSetup, setConnector, type ConnectorSetup } from '../collection/connector-settings.ts';
import { removeMarksFiles } from '../collection/connectors/csv/forget-marks-files.ts';
import { removeRoster } from '../collection/remove.ts';
import { SchoolbellError } from '../errors.ts';
import { confirmSchool } from '../onboarding/invitations.ts';
import { optionalText, text, type Command, type Given } from './command.ts';

const estab = { value: '<id>', help: 'the establishment (in England the seven-digit LAESTAB)', required: true } as const;

export const schoolCommands: readonly Command[] = [
  {
    name: 'school add',
    help: 'Adds an establishment.',
    options: {
      estab,
      name: { value: '<name>', help: 'its name', required: true },
      email: { value: '<address>', help: 'its address of record', required: true },
      'time-zone': { value: '<zone>', help: 'Europe/London unless given' },
      connector: { value: '<kind>', help: 'where its data comes from: csv, oneroster or demo; an import sets csv' },
      folder: { value: '<path>', help: 'csv: a folder on this server that is watched; without one packages are uploaded' },
      url: { value: '<url>', help: "oneroster: the provider's root, such as https://host/ims/oneroster/v1p1" },
      'token-url': { value: '<url>', help: 'oneroster: where tokens come from, if it is not found below the root' },
      'client-id': { value: '<id>', help: 'oneroster: the credentials' },
      'client-secret': { value: '<secret>', help: 'oneroster: the credentials' },
    },
    async run({ db, seal }, given) {
      const setup = parseSetup(given);
      if (setup) await requireUsableSetup(setup);
      const added = await addEstablishment(db, {
        estab: text(given, 'estab'),
        name: text(given, 'name'),
        email: text(given, 'email'),
        timeZone: optionalText(given, 'time-zone'),
      });
      if (setup) await db.begin((tx) => setConnector(tx, seal, added.estab, setup));
      const data = { ...added, connector: setup?.kind ?? null };
      return { data, lines: [`added ${data.estab} ${data.name}${setup ? `, connected by ${setup.kind}` : ''}`] };
    },
  },
  {
    name: 'school list',
    help: 'Lists the establishments.',
    options: {},
    async run({ db }) {
      const data = await listEstablishments(db);
      return {
        data,
        lines: data.map((one) => `${one.estab}\t${one.name}\t${one.email}\t${one.connector ?? 'no connector'}${one.confirmed ? '' : '\tnot confirmed'}`),
      };
    },
  },
  {
    name: 'school confirm',
    help: 'Vouches for a school that only an application has named, and for its address; invitations that waited go out.',
    options: { estab, email: { value: '<address>', help: 'its address of record, if it is another than the application gave' } },
    async run({ db, config }, given) {
      const data = await confirmSchool(db, config.publicUrl, text(given, 'estab'), optionalText(given, 'email'));
      return { data, lines: [`${data.estab} ${data.name} is confirmed with ${data.email}; ${data.invited} invitations were sent`] };
    },
  },
  {
    name: 'school remove',
    help: 'Removes an establishment with its roster and authorisations, for good.',
    options: { estab },
    async run({ db, config }, given) {
      const found = await requireEstablishment(db, text(given, 'estab'));
      await removeRoster(db, found.estab);
      await removeMarksFiles(config.dataDir, found.estab);
      return { data: { estab: found.estab, removed: true }, lines: [`removed ${found.estab} ${found.name}`] };
    },
  },
];

const setupOptions = { csv: ['folder'], oneroster: ['url', 'token-url', 'client-id', 'client-secret'], demo: [] } as const;

function parseSetup(given: Given): ConnectorSetup | undefined {
  const kind = optionalText(given, 'connector');
  if (kind !== undefined && !Object.hasOwn(setupOptions, kind))
    throw new SchoolbellError('invalid_request', `--connector "${kind}": must be one of ${Object.keys(setupOptions).join(', ')}`);
  const allowed: readonly string[] = kind === undefined ? [] : setupOptions[kind as ConnectorSetup['kind']];
  const stranger = Object.values(setupOptions)
    .flat()
    .find((name) => given.options[name] !== undefined && !allowed.includes(name));
  if (stranger)
    throw new SchoolbellError(
      'invalid_request',
      `--${stranger} does not go with ${kind === undefined ? 'a school that has no --connector' : `--connector ${kind}`}`,
    );
  if (kind === undefined) return undefined;
  if (kind === 'demo') return { kind };
  if (kind === 'csv') return { kind, folder: optionalText(given, 'folder') };
  const url = optionalText(given, 'url');
  if (url === undefined) throw new SchoolbellError('invalid_request', '--url is missing: the root of the OneRoster provider');
  return { kind: 'oneroster', url, tokenUrl: optionalText(given, 'token-url'), clientId: text(given, 'client-id'), clientSecret: text(given, 'client-secret') };
}
