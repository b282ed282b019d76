// In charge of the command that shows mails: what was sent and when, what fails and why, and, where none are sent, what they say.
import { printable } from '../http/printable.ts';
import { listMails, readTexts, type ListedMail } from '../mail/list-mails.ts';
import type { Command } from './command.ts';
import { renderTable, renderTime } from './table.ts';

const listed = 200;

export const mailCommands: readonly Command[] = [
  {
    name: 'mails',
    effect: 'looks',
    help: `Lists the latest ${listed} mails: sent, failing and why, or, without SMTP_URL, kept and shown in full.`,
    options: {},
    async run({ db }) {
      const rows = await listMails(db, { most: listed });
      const texts = await readTexts(db, rows);
      const data = rows.map((row) => {
        const { work: _, ...mail } = row;
        return { ...mail, ...(texts.get(mail.id) ?? { text: null, html: null }) };
      });
      const table = renderTable(
        data,
        [
          { title: 'Written', of: (one) => one.created },
          { title: 'State', of: (one) => one.state },
          { title: 'Sent', of: (one) => one.sent },
          { title: 'To', of: (one) => one.to, most: 40 },
          { title: 'Subject', of: (one) => one.subject, most: 50 },
          { title: 'Why', of: why },
        ],
        'no mails yet',
      );
      return { data, lines: [...table, ...data.flatMap(renderText)] };
    },
  },
];

function renderText({ id, to, subject, text }: { id: string; to: string; subject: string; text: string | null }): string[] {
  if (text === null) return [];
  return ['', printable(`${id} to ${to}: ${subject}`, ' '), ...text.trimEnd().split('\n').map((line) => `    ${printable(line, ' ')}`)];
}

function why({ state, error, next }: Pick<ListedMail, 'state' | 'error' | 'next'>): string {
  if (state === 'kept') return 'not sent: there is no SMTP_URL';
  if (state === 'failing') return `${error}; tried again at ${next ? renderTime(next) : 'once'}`;
  return error ?? '';
}
