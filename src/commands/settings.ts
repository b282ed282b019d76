// In charge of the command that shows the settings in force, and since when keys are used.
import { listTokenKeys } from '../access/token-keys.ts';
import { readServerFacts } from '../db/server-facts.ts';
import { listRetained } from '../describe-retention.ts';
import { listProviderKeys } from '../identity/oidc/keys.ts';
import { listChores } from '../outbox/chores.ts';
import { listSettings } from '../settings.ts';
import { version } from '../version.ts';
import type { Command } from './command.ts';
import { renderTable } from './table.ts';

export const settingsCommands: readonly Command[] = [
  {
    name: 'settings',
    effect: 'reads',
    help: 'Shows the settings in force for this command, without secrets, versions, keys with their age, when each chore ran, how long what is kept.',
    options: {},
    async run({ db, config }) {
      const keys = [
        ...(await listTokenKeys(db)).map(({ id, created, until }) => ({ of: 'tokens', id, created, until })),
        ...(await listProviderKeys(db)).map(({ id, created, until }) => ({ of: 'single sign-on', id, created, until })),
      ];
      const data = {
        version,
        node: process.version,
        server: await readServerFacts(db),
        settings: listSettings(config),
        keys,
        chores: await listChores(db),
        retained: listRetained(config).map(({ what, howLong, purged, less }) => ({ what, howLong, purged, less })),
      };
      return {
        data,
        lines: [
          `Schoolbell ${version}, Node ${process.version}, PostgreSQL ${data.server.postgres}, migration ${data.server.newest}`,
          '',
          ...renderTable(
            data.settings,
            [
              { title: 'Variable', of: ({ name }) => name },
              { title: 'From', of: ({ from }) => from },
              { title: 'Value', of: ({ value }) => value },
            ],
            '',
          ),
          '',
          ...renderTable(
            keys,
            [
              { title: 'Keys of', of: ({ of }) => of },
              { title: 'Id', of: ({ id }) => id },
              { title: 'Made', of: ({ created }) => created },
              { title: 'Counts until', of: ({ until }) => until ?? 'it is replaced' },
            ],
            'no keys yet: the first start makes them',
          ),
          '',
          ...renderTable(
            data.chores,
            [
              { title: 'Chore', of: ({ name }) => name },
              { title: 'Ran', of: ({ last }) => last },
              { title: 'Took ms', of: ({ tookMs }) => tookMs, right: true },
              { title: 'Next', of: ({ next }) => next },
              { title: 'Trouble', of: ({ trouble }) => trouble },
            ],
            'no chore ran yet',
          ),
          '',
          ...renderTable(
            data.retained,
            [
              { title: 'Kept', of: ({ what }) => what, most: 60 },
              { title: 'How long', of: ({ howLong }) => howLong },
            ],
            '',
          ),
        ],
      };
    },
  },
];
