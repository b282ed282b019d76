// In charge of the command that shows what became of a record, state by state, and where each came from.
import { requireEstablishment } from '../access/establishments.ts';
import { describeOrigin } from '../collection/record-history.ts';
import { SchoolbellError } from '../errors.ts';
import { collections } from '../roster/collections.ts';
import { readStates } from '../rostering/record-states.ts';
import { text, type Command } from './command.ts';
import { renderTable } from './table.ts';

export const historyCommands: readonly Command[] = [
  {
    name: 'history',
    effect: 'looks',
    help: 'Shows what a record of a roster was, newest first, from which version until which, and where it came from.',
    positional: { name: '<sourcedId>', help: 'the record', record: true },
    options: {
      estab: { value: '<id>', help: 'the establishment', required: true },
      collection: { value: '<name>', help: `one of ${Object.keys(collections).join(', ')}`, required: true },
    },
    async run({ db, config }, { options, positionals }) {
      const given = { options, positionals };
      const { estab } = await requireEstablishment(db, text(given, 'estab'));
      const name = text(given, 'collection');
      const resource = Object.values(collections).find(({ collection }) => collection === name);
      if (!resource) throw new SchoolbellError('invalid_request', `--collection "${name}": must be one of ${Object.keys(collections).join(', ')}`);
      const [sourcedId, ...more] = positionals;
      if (sourcedId === undefined || more.length > 0) throw new SchoolbellError('invalid_request', 'give exactly one sourcedId');
      const { states: shown } = await readStates(db, config.publicUrl, estab, resource, sourcedId);
      if (shown.length === 0)
        throw new SchoolbellError('not_found', `${estab} has no record "${sourcedId}" among its ${name}, nor is there one in its history`);
      return {
        data: shown,
        lines: renderTable(
          shown,
          [
            { title: 'Version', of: ({ from }) => from, right: true },
            { title: 'Since', of: ({ fromAt }) => (fromAt === null ? 'forgotten when' : new Date(fromAt)) },
            { title: 'Until', of: ({ until }) => (until === null ? 'stands' : `version ${until}`) },
            { title: 'Status', of: ({ status }) => status },
            { title: 'From', of: ({ origin }) => describeOrigin(origin) },
            { title: 'Import', of: ({ origin }) => origin.import },
            { title: 'Record', of: ({ record }) => JSON.stringify(record) },
          ],
          'it has no history',
        ),
      };
    },
  },
];
