// In charge of the command that shows mails: what was sent, what failed, and, where none are sent, what they say.
import { mailKind } from '../mail/mail.ts';
import type { Command } from './command.ts';

const listed = 200;

type Row = {
  id: string;
  estab: string;
  rp: string | null;
  to: string;
  subject: string;
  state: string;
  created: Date;
  attempts: number;
  body: Buffer | null;
  error: string | null;
};

export const mailCommands: readonly Command[] = [
  {
    name: 'mails',
    help: `Lists the latest ${listed} mails. Without SMTP_URL they are kept and shown in full.`,
    options: {},
    async run({ db }) {
      const rows = await db<Row[]>`
        select o.id, o.estab, o.rp, o.payload ->> 'to' as to, o.payload ->> 'subject' as subject, o.state, o.created_at as created, o.attempts, o.body,
          (select a.detail ->> 'message' from outbox_attempt a where a.estab = o.estab and a.id = o.id and not a.success order by a.number desc
            limit 1) as error
        from outbox o where o.kind = ${mailKind} order by o.created_at desc limit ${listed}`;
      const data = rows.map(({ body, ...row }) => ({
        ...row,
        ...(body ? (JSON.parse(body.toString('utf8')) as { text: string; html: string }) : { text: null, html: null }),
      }));
      return {
        data,
        lines: data.flatMap((one) => [
          `${one.created.toISOString()}\t${one.state}\t${one.to}\t${one.subject}${one.error ? `\t${one.error}` : ''}`,
          ...(one.text ? [one.text.replace(/^/gm, '    ')] : []),
        ]),
      };
    },
  },
];
