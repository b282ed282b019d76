// In charge of an application to rehearse with, made in one step: added, authorised by the demo school for everything, and the sandbox's to
// do things to.
import { randomBytes } from 'node:crypto';
import { addApplication, type NewApplication } from '../access/applications.ts';
import { authorise } from '../access/authorisations.ts';
import { scopeNames } from '../access/scopes.ts';
import type { Seal } from '../access/seal.ts';
import { isDemoSchool } from '../collection/steer-demo.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';

export const mostDemoApplications = 100;
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
    throw new SchoolbellError('invalid_request', `--name "${name.slice(0, longestName)}": 1 to ${longestName} characters`);
  if (!(await isDemoSchool(db, estab)))
    throw new SchoolbellError('conflict', `${estab} is no demo school; start with DEMO=on, or add one: school add --connector demo`);
  const [known] = await db<{ many: number }[]>`select count(*)::int as many from application where demo`;
  if ((known?.many ?? 0) >= mostDemoApplications)
    throw new SchoolbellError('conflict', `there are ${mostDemoApplications} applications of the demo already; remove one first: application remove`);
  const made = await addApplication(db, seal, {
    rp: rp ?? makeRp(name, ending || randomBytes(3).toString('hex')),
    name: name.trim(),
    callbackUrl,
    scopes: scopeNames.join(','),
    redirectUris: [],
    demo: true,
  });
  const { schoolSecret } = await authorise(db, { rp: made.rp, estab });
  return { ...made, estab, schoolSecret };
}

function makeRp(name: string, ending: string): string {
  const words = name.toLowerCase().normalize('NFKD').replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-+|-+$/g, '').slice(0, 40);
  return `${words || 'rehearsal'}-${ending.slice(0, 8)}.demo`;
}
