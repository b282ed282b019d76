// In charge of SchoolRegister: an application invites schools, sees how each of its own stands, and withdraws invitations.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RequireManagementCaller } from '../access/management-caller.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { fine } from '../http/envelope.ts';
import { describeInvite, describeOwnSchool, describeOwnSchools, describeWithdraw } from './describe-school-register.ts';
import { invite, withdraw, type Invite, type Invited } from './invitations.ts';
import { listOwnSchools } from './own-schools.ts';

export type SchoolRegister = { db: Db; publicUrl: string; sendsMail: boolean; requireManagement: RequireManagementCaller };

const path = '/api/Manage/SchoolRegister';
const mostSchools = 100;
const longestText = 500;

const messages: Readonly<Record<Invited['state'], string>> = {
  Invited: "An invitation was sent to the school's address of record.",
  Proposed: 'The operator has been asked to confirm the school, or to send the invitation, which goes out then.',
  AlreadyInvited: 'The school was invited within the last hour; no second mail was sent.',
  AlreadyAuthorised: 'The school authorises this already.',
};
const notMailed = 'An invitation was made for the school. E-mail is not set up on this service, so the operator has to hand the link to the school.';

export function schoolRegisterRoutes(app: FastifyInstance, { db, requireManagement, ...service }: SchoolRegister): void {
  const caller = (request: FastifyRequest) => requireManagement(request);
  app.post(path, describeInvite, async (request) => {
    const { rp } = await caller(request);
    const answers = [];
    for (const school of parseSchools(request.body)) answers.push(await inviteOne(db, service, rp, school));
    return { Schools: answers, ...fine };
  });
  app.get(path, describeOwnSchools, async (request) => ({
    Schools: await listOwnSchools(db, (await caller(request)).rp),
    ...fine,
  }));
  app.get(`${path}/:estab`, describeOwnSchool, async (request) => {
    const { rp } = await caller(request);
    const { estab } = request.params as { estab: string };
    const schools = estab.includes('\0') ? [] : await listOwnSchools(db, rp, estab);
    if (schools.length === 0)
      throw new SchoolbellError('not_found', `${estab.slice(0, 40)} is not a school of this application: it was not invited and has not approved.`);
    return { Schools: schools, ...fine };
  });
  app.delete(`${path}/:estab`, describeWithdraw, async (request) => {
    const { estab } = request.params as { estab: string };
    await withdraw(db, { estab, rp: (await caller(request)).rp, by: 'application' });
    return { Schools: [{ Estab: estab, Status: 'OK', Message: 'The invitation was withdrawn.' }], ...fine };
  });
}

/**
 * For a developer on a page, by the rules of the API: what it would only remark upon is a refusal here. names: of the fields, as they are
 * called on the page.
 */
export async function inviteForApplication(
  db: Db,
  publicUrl: string,
  asked: Omit<Invite, 'by'>,
  names: Readonly<Record<'estab' | 'name' | 'email' | 'reason', string>>,
): Promise<void> {
  const { estab, schoolName, contactEmail, reason } = asked;
  const given = new Map<string, string | null>([
    [names.estab, estab], [names.name, schoolName], [names.email, contactEmail], [names.reason, reason],
  ].map(([name, value]) => [(name ?? '').toLowerCase(), value ?? null]));
  for (const name of [names.estab, names.name, names.email]) requireText(given, name);
  text(given, names.reason);
  const { state } = await invite(db, publicUrl, { ...asked, by: 'application' });
  if (state === 'AlreadyInvited' || state === 'AlreadyAuthorised') throw new SchoolbellError('conflict', messages[state]);
}

type Given = ReadonlyMap<string, unknown>;

function parseSchools(body: unknown): Given[] {
  const schools = [...keysInAnyCase(body)].find(([name]) => name === 'schools')?.[1];
  if (!Array.isArray(schools) || schools.length === 0)
    throw new SchoolbellError('invalid_request', 'The body must be a JSON object with Schools, an array of at least one.');
  if (schools.length > mostSchools)
    throw new SchoolbellError('invalid_request', `Schools has ${schools.length} entries; at most ${mostSchools} are taken at once.`);
  return schools.map((school) => keysInAnyCase(school));
}

function keysInAnyCase(value: unknown): Given {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return new Map();
  return new Map(Object.entries(value).map(([name, one]) => [name.toLowerCase(), one]));
}

/** One school that is not right does not keep the others from being invited. */
async function inviteOne(
  db: Db,
  { publicUrl, sendsMail }: Pick<SchoolRegister, 'publicUrl' | 'sendsMail'>,
  rp: string,
  given: Given,
): Promise<Record<string, unknown>> {
  const codes = given.has('leacode') ? { LeaCode: given.get('leacode'), DfesCode: given.get('dfescode') } : {};
  let estab = '';
  try {
    estab = text(given, 'Estab') ?? estabOfCodes(given);
    const schoolName = requireText(given, 'SchoolName');
    const contactEmail = requireText(given, 'SchoolContactEmail');
    const { state } = await invite(db, publicUrl, {
      estab,
      rp,
      schoolName,
      contactEmail,
      reason: text(given, 'reason') ?? null,
      scopes: scopesOf(given),
      by: 'application',
    });
    return { Estab: estab, ...codes, Status: 'OK', Message: state === 'Invited' && !sendsMail ? notMailed : messages[state] };
  } catch (error) {
    if (!(error instanceof SchoolbellError)) throw error;
    return { Estab: estab, ...codes, Status: 'Error', Message: error.message.replace(/^--(\w+)/, '$1') };
  }
}

function estabOfCodes(given: Given): string {
  const [lea, dfes] = [text(given, 'LeaCode'), text(given, 'DfesCode')];
  if (lea === undefined || dfes === undefined) throw new SchoolbellError('invalid_request', 'Estab, or LeaCode and DfesCode, is missing.');
  return `${lea}${dfes}`;
}

function text(given: Given, name: string): string | undefined {
  const value = given.get(name.toLowerCase());
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string' && typeof value !== 'number') throw new SchoolbellError('invalid_request', `${name} must be a string.`);
  if (String(value).length > longestText || /\p{Cc}/u.test(String(value)))
    throw new SchoolbellError('invalid_request', `${name} must have at most ${longestText} characters and no control characters.`);
  return String(value);
}

function requireText(given: Given, name: string): string {
  const value = text(given, name)?.trim();
  if (!value) throw new SchoolbellError('invalid_request', `${name} is missing.`);
  return value;
}

/** As a list, as one string, or null for all that the application asks for. */
function scopesOf(given: Given): string | undefined {
  const value = given.get('scopestoauthorise');
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return undefined;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(',');
  if (typeof value === 'string') return value === '' ? undefined : value;
  throw new SchoolbellError('invalid_request', 'ScopesToAuthorise must be a list of scope names, or null.');
}
