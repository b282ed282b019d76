// In charge of the commands on schools.
import { addEstablishment, listEstablishments, requireEstablishment } from '../access/establishments.ts';
import { removeRoster } from '../collection/remove.ts';
import { optionalText, text, type Command } from './command.ts';

const estab = { value: '<id>', help: 'the establishment (in England the seven-digit LAESTAB)', required: true } as const;

export const schoolCommands: readonly Command[] = [
  {
    name: 'school add',
    help: 'Adds an establishment.',
    options: { estab, name: { value: '<name>', help: 'its name', required: true }, email: { value: '<address>', help: 'its address of record', required: true }, 'time-zone': { value: '<zone>', help: 'Europe/London unless given' } },
    async run({ db }, given) {
      const data = await addEstablishment(db, { estab: text(given, 'estab'), name: text(given, 'name'), email: text(given, 'email'), timeZone: optionalText(given, 'time-zone') });
      return { data, lines: [`added ${data.estab} ${data.name}`] };
    },
  },
  {
    name: 'school list',
    help: 'Lists the establishments.',
    options: {},
    async run({ db }) {
      const data = await listEstablishments(db);
      return { data, lines: data.map((one) => `${one.estab}\t${one.name}\t${one.email}\t${one.connector ?? 'no connector'}`) };
    },
  },
  {
    name: 'school remove',
    help: 'Removes an establishment with its roster and authorisations, for good.',
    options: { estab },
    async run({ db }, given) {
      const found = await requireEstablishment(db, text(given, 'estab'));
      await removeRoster(db, found.estab);
      return { data: { estab: found.estab, removed: true }, lines: [`removed ${found.estab} ${found.name}`] };
    },
  },
];
