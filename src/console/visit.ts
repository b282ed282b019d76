// In charge of what a page or an action of the console is given and gives: who is there, what was asked, and what is shown.
import type { MultipartFile } from '@fastify/multipart';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import type { Actor, Deed } from '../access/audit-trail.ts';
import type { Seal } from '../access/seal.ts';
import type { Opening } from '../access/scopes.ts';
import type { UploadLimits } from '../collection/uploads.ts';
import type { Config } from '../config.ts';
import type { Db } from '../db/connect.ts';
import type { Prefer } from '../db/replicas.ts';
import type { Retained } from '../describe-retention.ts';
import type { Form } from '../http/forms.ts';
import type { Outbound } from '../http/outbound.ts';
import type { HoldLimits } from '../notifications/inbox/hold.ts';
import type { Tokens } from '../access/tokens.ts';
import type { ReadSurfaces } from '../reference/describe-surfaces.ts';
import type { SendRequest } from './applications/try/send.ts';
import type { HashPool } from '../access/hash-pool.ts';
import type { Operator } from '../operators/sessions.ts';

/** What it takes to try the API. demo: whose tokens are everybody's, and at which school, where there is one. */
export type Trying = Readonly<{ tokens: Tokens; readSurfaces: ReadSurfaces; send: SendRequest; demo: Readonly<{ rp: string; estab: string }> | undefined }>;

/** db: what pages read with, so that they hold up no API. prefer: where that is. changes: what actions write with. tries: for passwords. */
export type ConsoleParts = Readonly<{
  db: Db;
  prefer: Prefer<Readonly<{ db: Db }>>;
  changes: Db;
  tries: Db;
  seal: Seal;
  config: Config;
  /** The token of the demo's one-click sign-in; undefined where there is none. */
  demoEntry: string | undefined;
  hashing: HashPool;
  providers: Outbound;
  uploads: UploadLimits;
  /** Of callers of inboxes. */
  holds: HoldLimits;
  trying: Trying;
  openings: readonly Opening[];
  /** How long what is kept. */
  retained: readonly Retained[];
  now: () => number;
}>;

export type Visit = Readonly<{
  operator: Operator;
  actor: Actor;
  /** Of every form on the page. */
  token: string;
  params: Readonly<Record<string, string>>;
  query: Form;
  /** Whether there is a demo, and with it a sandbox. */
  sandbox: boolean;
  request: FastifyRequest;
  reply: FastifyReply;
  /** What an action comes with, not read yet, with the fields that stand before it. */
  file?: MultipartFile | undefined;
  /** What was just done. */
  notice?: string | undefined;
  /** Why what was just asked for was not done, and what had been typed: the page is shown again with both. */
  problem?: string | undefined;
  typed?: Form | undefined;
}>;

type Visitor = Pick<Visit, 'operator'>;

export const isDeveloper = ({ operator }: Visitor) => operator.role === 'developer';
/** Whoever may do what the forms of a page are for: an admin, and a developer on the pages of their application. */
export const mayChange = ({ operator }: Visitor) => operator.role !== 'viewer';
/** What stays the operator's on the pages that developers see too. */
export const mayOperate = ({ operator }: Visitor) => operator.role === 'admin';

/** scripted: a script of ours comes along, and the page's policy lets it in. */
export type Shown = Readonly<{ html: string; scripted: boolean }>;
/** On to another page, or a page that is shown this once (a new secret). */
export type Went = Readonly<{ to: string }> | Shown;

/** A file to be kept. */
export type Sent = Readonly<{ bytes: Readable; headers: Readonly<Record<string, string>> }>;

/**
 * developers: of an application, they come here as well: below `/console/applications/:rp` where that application is theirs,
 * elsewhere to what is about themselves. To them, everything that does not say so is not there.
 */
export type Page = Readonly<{ path: string; developers?: true; show(parts: ConsoleParts, visit: Visit): Promise<Shown | Sent> }>;

/** A notice that depends on whether e-mail is set up: without it, mails are stored and shown under Mail. */
export type MailNotice = Readonly<{ mailed: string; stored: string }>;

/**
 * path: below that of the page which has its form (`/console/schools/:estab/pause`), and what is refused is said there.
 * name: as the audit trail has it, which is the command's where one does the same. done: what the next page says. may: an
 * operator does this to their own account, whatever their role. labels: the function behind is that of a command, and what
 * it calls --time-zone is the field Time zone here. about: what the trail should know beside the school and application of
 * the path. longestMs: where somebody else than the database is waited for, a turn at hashing say, or many schools are dealt
 * with one by one. file: it comes with one, so that the token stands in the address; what else is to be known stands before the
 * file in its form. developers: as with a page.
 */
export type Action = Readonly<{
  path: string;
  name: string;
  done?: string | MailNotice;
  may?: 'self';
  developers?: true;
  labels?: Readonly<Record<string, string>>;
  longestMs?: number | ((parts: ConsoleParts) => number);
  file?: true;
  about?(visit: Visit, form: Form, parts: ConsoleParts): Omit<Deed, 'action'> | Promise<Omit<Deed, 'action'>>;
  run(parts: ConsoleParts, visit: Visit, form: Form): Promise<Went>;
}>;
