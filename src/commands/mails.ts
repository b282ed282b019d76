// In charge of the command that shows mails: what was sent and when, what fails and why, and, where none are sent, what they say.
import { printable } from '../http/printable.ts';
import { mailKind } from '../mail/mail.ts';
import type { Command } from './command.ts';
import { renderTable, renderTime } from './table.ts';

const listed = 200;

type Row = {
  id: string;
  estab: string;
  rp: string | null;
  to: string;
  subject: string;
  work: string;
  created: Date;
  due: Date;
  settled: Date | null;
  attempts: number;
  body: Buffer | null;
  error: string | null;
};

/** kept: there is no SMTP_URL, so that nobody was sent anything. failing: it is tried again. */
type State = 'waiting' | 'sending' | 'sent' | 'kept' | 'failing' | 'failed' | 'cancelled';

export const mailCommands: readonly Command[] = [
  {
    name: 'mails',
    help: `Lists the latest ${listed} mails: sent, failing and why, or, without SMTP_URL, kept and shown in full.`,
    options: {},
    async run({ db }) {
      const rows = await db<Row[]>`
        select o.id, o.estab, o.rp, o.payload ->> 'to' as to, o.payload ->> 'subject' as subject, o.state as work, o.created_at as created, o.due_at as due,
          o.settled_at as settled, o.attempts, o.body,
          (select a.detail ->> 'message' from outbox_attempt a where a.estab = o.estab and a.id = o.id and not a.success order by a.number desc
            limit 1) as error
        from outbox o where o.kind = ${mailKind} order by o.created_at desc limit ${listed}`;
      const data = rows.map(({ body, work, due, settled, error, ...row }) => {
        const state = stateOf({ body, work, error });
        return {
          ...row,
          state,
          sent: state === 'sent' ? settled : null,
          next: state === 'failing' ? due : null,
          error: state === 'failing' || state === 'failed' ? error : null,
          ...(body ? (JSON.parse(body.toString('utf8')) as { text: string; html: string }) : { text: null, html: null }),
        };
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

/** The text is erased when a mail was sent; one that is done and has it was kept. */
function stateOf({ work, body, error }: Pick<Row, 'work' | 'body' | 'error'>): State {
  if (work === 'done') return body ? 'kept' : 'sent';
  if (work === 'waiting') return error === null ? 'waiting' : 'failing';
  if (work === 'running') return 'sending';
  return work === 'failed' ? 'failed' : 'cancelled';
}

function why({ state, error, next }: { state: State; error: string | null; next: Date | null }): string {
  if (state === 'kept') return 'not sent: there is no SMTP_URL';
  if (state === 'failing') return `${error}; tried again at ${next ? renderTime(next) : 'once'}`;
  return error ?? '';
}
