// In charge of an application to rehearse with, made in one step: added, authorised by the demo school for everything, and the sandbox's to
// do things to.
import { randomBytes } from 'node:crypto';
import { insertApplication, type NewApplication } from '../access/applications.ts';
import { authoriseWithin } from '../access/authorisations.ts';
import { scopeNames } from '../access/scopes.ts';
import type { Seal } from '../access/seal.ts';
import { holdDemoSchools } from '../collection/steer-demo.ts';
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { cutText } from '../http/cut-text.ts';

const mostDemoApplications = 100;
/** Where nobody listens, as a rule: nothing is sent there unless the application asks for it. */
const usualCallbackUrl = 'http://127.0.0.1:8081/events';
const usualSchool = '9990001';
const longestName = 60;

export type DemoApplication = NewApplication & { estab: string; schoolSecret: string };
/** ending: of the id that is made of the name; two of one name are two applications unless their endings are one. */
export type Wanted = { name: string; ending?: string | undefined; rp?: string | undefined; callbackUrl?: string | undefined; estab?: string | undefined };

/** rp: made of the name, unless one is given. */
export async function makeDemoApplication(db: Db, seal: Seal, wanted: Wanted): Promise<DemoApplication> {
  const { name, ending, rp, callbackUrl = usualCallbackUrl, estab = usualSchool } = wanted;
  if (name.trim() === '' || name.length > longestName)
    throw new SchoolbellError('invalid_request', `--name "${shorten(name)}": must have 1 to ${longestName} characters, and has ${name.length}`);
  return db.begin(async (tx) => {
    const [school] = await holdDemoSchools(tx, [estab]);
    if (school === undefined)
      throw new SchoolbellError('conflict', `${estab} is no demo school; start with DEMO=on, or add one: school add --connector demo`);
    await requireFew(tx);
    const made = await insertApplication(tx, seal, {
      rp: rp ?? makeRp(name, ending || randomBytes(3).toString('hex')),
      name: name.trim(),
      callbackUrl,
      scopes: scopeNames.join(','),
      redirectUris: [],
      demo: true,
    });
    const { schoolSecret } = await authoriseWithin(tx, { rp: made.rp, estab });
    return { ...made, estab, schoolSecret };
  });
}

const shorten = (name: string) => (name.length > longestName ? `${cutText(name, longestName)}…` : name);

/** Until the transaction ends nobody makes another one. */
async function requireFew(tx: Tx): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtext('demo applications'))`;
  const [known] = await tx<{ many: number }[]>`select count(*)::int as many from application where demo`;
  if ((known?.many ?? 0) >= mostDemoApplications)
    throw new SchoolbellError('conflict', `there are ${mostDemoApplications} applications of the demo already; remove one first: application remove`);
}

function makeRp(name: string, ending: string): string {
  const words = name.toLowerCase().normalize('NFKD').replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-+|-+$/g, '').slice(0, 40);
  return `${words || 'rehearsal'}-${ending.slice(0, 8)}.demo`;
}
