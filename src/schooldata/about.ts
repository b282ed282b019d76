// In charge of what a caller can learn about itself: its token, the scopes there are, the endpoints, the databases.
import type { SchoolCaller } from '../access/school-caller.ts';
import { scopeDescriptions, scopeNames } from '../access/scopes.ts';
import { databaseNames, type DatabaseName } from '../collection/connector.ts';
import type { Db } from '../db/connect.ts';
import { fine } from '../http/envelope.ts';
import { commonParameters, endpoints } from './catalogue.ts';
import { renderStatus } from './db-status.ts';
import { readOpenedDatabases } from './opened-databases.ts';

type About = (db: Db, who: SchoolCaller) => Promise<Record<string, unknown>>;

const abouts: Readonly<Record<string, About>> = {
  TokenDetails: async (db, who) => {
    const [school] = await db<{ name: string }[]>`select name from establishment where estab = ${who.estab}`;
    return { Estab: who.estab, Expires: who.expiresAt.toISOString(), Name: school?.name ?? null, RelyingParty: who.rp, Scopes: [...who.scopes], ...fine };
  },
  Scopes: async (_db, who) => ({
    Scopes: scopeNames.map((name) => ({
      Name: name,
      Category: scopeDescriptions[name].category,
      Description: scopeDescriptions[name].description,
      Granted: who.scopes.includes(name),
    })),
    ...fine,
  }),
  Queries: async () => ({ Queries: endpoints.map(describe), ...fine }),
  Databases: async (db, who) => renderStatus({ estab: who.estab, endpoint: 'Databases', requestId: null, databases: await readOpenedDatabases(db, who) }),
};

export type AboutCaller = Readonly<{ name: string; databases: readonly DatabaseName[]; answer: About }>;

/** Parameters of the endpoints about the caller. */
export const aboutParameters: readonly string[] = ['callbackUrl'];

/** By its name in any case; databases: those that it tells of. */
export function findAbout(name: string): AboutCaller | undefined {
  const found = Object.entries(abouts).find(([one]) => one.toLowerCase() === name.toLowerCase());
  return found && { name: found[0], databases: found[0] === 'Databases' ? databaseNames : [], answer: found[1] };
}

function describe({ name, description, scope, databases, parameters, fields, valuesOfId }: (typeof endpoints)[number]): Record<string, unknown> {
  return {
    Id: name,
    Name: name,
    Method: 'GET',
    Path: `/api/v1/School/{estab}/${name}`,
    PathOfRow: valuesOfId ? `/api/v1/School/{estab}/${name}/{Id}` : null,
    Description: description,
    Scope: scope,
    Databases: databases,
    Parameters: [
      ...parameters.map((parameter) => ({ Name: parameter.name, Required: parameter.required, Description: parameter.description })),
      ...commonParameters.map((parameter) => ({ Name: parameter.name, Required: false, Description: parameter.description })),
    ],
    Fields: fields,
  };
}
