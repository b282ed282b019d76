// In charge of the command that shows what became of a record, state by state, and where each came from.
import { requireEstablishment } from '../access/establishments.ts';
import { readRecordHistory, type Origin } from '../collection/record-history.ts';
import { SchoolbellError } from '../errors.ts';
import { collections } from '../roster/collections.ts';
import { createFinish } from '../rostering/render.ts';
import { text, type Command } from './command.ts';
import { renderTable } from './table.ts';

export const historyCommands: readonly Command[] = [
  {
    name: 'history',
    help: 'Shows what a record of a roster was, newest first, from which version until which, and where it came from.',
    positional: { name: '<sourcedId>', help: 'the record' },
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
      const states = await readRecordHistory(db, estab, resource, sourcedId);
      if (states.length === 0)
        throw new SchoolbellError('not_found', `${estab} has no record "${sourcedId}" among its ${name}, nor is there one in its history`);
      const versions = new Map([[estab, states.map(({ from, fromAt }) => ({ version: from, instant: 0, stamp: fromAt ?? '' })).toReversed()]]);
      const finish = createFinish(config.publicUrl, versions, undefined);
      const shown = states.map(({ stored, ...state }) => ({ ...state, record: JSON.parse(finish(stored)) as Record<string, unknown> }));
      return {
        data: shown,
        lines: renderTable(
          shown,
          [
            { title: 'Version', of: ({ from }) => from, right: true },
            { title: 'Since', of: ({ fromAt }) => (fromAt === null ? 'forgotten when' : new Date(fromAt)) },
            { title: 'Until', of: ({ until }) => (until === null ? 'stands' : `version ${until}`) },
            { title: 'Status', of: ({ status }) => status },
            { title: 'From', of: ({ origin }) => describePlace(origin) },
            { title: 'Import', of: ({ origin }) => origin.import },
            { title: 'Record', of: ({ record }) => JSON.stringify(record) },
          ],
          'it has no history',
        ),
      };
    },
  },
];

function describePlace({ file, line, provider, page }: Origin): string {
  const place = provider === null ? (line === null ? 'by the change of another record or by being absent' : `${file}, line ${line}`) : provider;
  return `${place}${page === null ? '' : `, page ${page}`}`;
}
