// In charge of the commands on schools.
import { addEstablishment, listEstablishments, requireEstablishment } from '../access/establishments.ts';
import { requireUsableSetup, setConnector, type ConnectorSetup } from '../collection/connector-settings.ts';
import { removeMarksFiles } from '../collection/connectors/csv/forget-marks-files.ts';
import { countSchool } from '../collection/count-school.ts';
import { removeRoster } from '../collection/remove.ts';
import { SchoolbellError } from '../errors.ts';
import { confirmSchool, editSchool } from '../onboarding/invitations.ts';
import { optionalText, text, type Command, type Given } from './command.ts';
import { renderPairs, renderTable } from './table.ts';

const estab = { value: '<id>', help: 'the establishment (in England the seven-digit LAESTAB)', required: true } as const;

const sourceOptions = {
  connector: { value: '<kind>', help: 'where its data comes from: csv, oneroster or demo; an import sets csv' },
  folder: { value: '<path>', help: 'csv: a folder on this server that is watched; without one packages are uploaded' },
  url: { value: '<url>', help: "oneroster: the provider's root, such as https://host/ims/oneroster/v1p1" },
  'token-url': { value: '<url>', help: 'oneroster: where tokens come from, if it is not found below the root' },
  'client-id': { value: '<id>', help: 'oneroster: the credentials' },
  'client-secret': { value: '<secret>', help: 'oneroster: the credentials' },
} as const;

export const schoolCommands: readonly Command[] = [
  {
    name: 'school add',
    help: 'Adds an establishment.',
    options: {
      estab,
      name: { value: '<name>', help: 'its name', required: true },
      email: { value: '<address>', help: 'its address of record', required: true },
      'time-zone': { value: '<zone>', help: 'Europe/London unless given' },
      ...sourceOptions,
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
        lines: renderTable(
          data,
          [
            { title: 'Estab', of: (one) => one.estab },
            { title: 'Name', of: (one) => one.name, most: 40 },
            { title: 'Address of record', of: (one) => `${one.email}${one.confirmed ? '' : ' (not confirmed)'}` },
            { title: 'Time zone', of: (one) => one.timeZone },
            { title: 'Connector', of: (one) => one.connector ?? 'none' },
          ],
          'no schools yet; add one with: school add',
        ),
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
    name: 'school edit',
    help: 'Changes what is given of an establishment. Links and sessions of an old address of record end; a new source is collected at once.',
    options: {
      estab,
      name: { value: '<name>', help: 'its name' },
      email: { value: '<address>', help: 'its address of record; open invitations are sent there again' },
      'time-zone': { value: '<zone>', help: 'in which its days begin' },
      ...sourceOptions,
    },
    async run({ db, seal, config }, given) {
      const { estab: known } = await requireEstablishment(db, text(given, 'estab'));
      const setup = parseSetup(given);
      const change = { name: optionalText(given, 'name'), email: optionalText(given, 'email'), timeZone: optionalText(given, 'time-zone') };
      if (!setup && Object.values(change).every((value) => value === undefined))
        throw new SchoolbellError('invalid_request', 'nothing is to be changed: give one of --name, --email, --time-zone, --connector');
      if (setup) await requireUsableSetup(setup);
      const invited = await db.begin(async (tx) => {
        const edited = await editSchool(tx, config.publicUrl, known, change);
        if (setup) await setConnector(tx, seal, known, setup);
        return edited.invited;
      });
      const data = { ...(await requireEstablishment(db, known)), invited };
      return {
        data,
        lines: renderPairs({
          estab: data.estab,
          name: data.name,
          'address of record': `${data.email}${data.confirmed ? '' : ' (not confirmed)'}`,
          'time zone': data.timeZone,
          connector: data.connector ?? 'none',
          ...(invited > 0 ? { 'invitations sent again': invited } : {}),
        }),
      };
    },
  },
  {
    name: 'school remove',
    help: 'Removes an establishment with its roster and authorisations, for good. That it was done stays to be seen: audit.',
    options: { estab },
    async destroys({ db }, given) {
      const found = await requireEstablishment(db, text(given, 'estab'));
      const counts = await countSchool(db, found.estab);
      return { what: `the school ${found.estab} ${found.name}`, data: { estab: found.estab, name: found.name, counts }, lines: renderPairs(counts) };
    },
    async run({ db, config }, given) {
      const found = await requireEstablishment(db, text(given, 'estab'));
      const counts = await removeRoster(db, found.estab);
      await removeMarksFiles(config.dataDir, found.estab);
      return { data: { estab: found.estab, removed: true, counts }, lines: [`removed ${found.estab} ${found.name}`, ...renderPairs(counts)] };
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
