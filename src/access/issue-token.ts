// In charge of a token that nobody presents a secret for: for what an application's own people try in the console. The same holds for
// it as for one from a token endpoint: the authorisation, and a secret that is valid, with which it ends.
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { findTokenSecrets } from './get-token.ts';
import { findApplication, findSchoolClient } from './rostering-token.ts';
import { isRosteringKind, type TokenKind, type Tokens } from './tokens.ts';

/** estab: of a token of one school. */
export type TokenWanted = Readonly<{ kind: TokenKind; rp: string; clientId: string; estab: string | undefined }>;

export async function issueToken(db: Db, tokens: Tokens, { kind, rp, clientId, estab }: TokenWanted): Promise<string> {
  const ofSchool = kind === 'rostering-b' || kind === 'rostering-1p2' || kind === 'school';
  if (ofSchool && !estab) throw new SchoolbellError('invalid_request', 'School: choose one that authorises the application.');
  const given = { kind, rp, estab: ofSchool ? estab : undefined, oneRosterScopes: undefined };
  const { token } = await tokens.issue({ ...given, secretId: await requireSecret(db, { kind, rp, clientId, estab: given.estab }) });
  return token;
}

async function requireSecret(db: Db, { kind, rp, clientId, estab }: TokenWanted): Promise<string> {
  const who = estab === undefined ? 'no school authorises' : `the school ${estab.slice(0, 32)} does not authorise`;
  const refused = new SchoolbellError('conflict', `There is no token for this: ${who} the application at present, or it has no secret that is valid.`);
  if (isRosteringKind(kind)) {
    const found = await (estab === undefined ? findApplication(db, clientId) : findSchoolClient(db, `${rp}|${estab}`));
    const open = found.find((one) => one.open);
    if (!open) throw refused;
    return open.secretId;
  }
  const [found] = (await findTokenSecrets(db, rp, estab)).filter(({ state }) => state === 'Approved');
  if (!found) throw refused;
  return found.secretId;
}
