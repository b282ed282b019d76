// In charge of what a caller can learn about itself: its token, the scopes there are, the endpoints, the databases.
import type { SchoolCaller } from '../access/school-caller.ts';
import { scopeDescriptions, scopeNames } from '../access/scopes.ts';
import { readDatabases } from '../collection/component-databases.ts';
import type { Db } from '../db/connect.ts';
import { fine } from '../http/envelope.ts';
import { endpoints } from './catalogue.ts';
import { renderStatus } from './db-status.ts';

export type About = (db: Db, who: SchoolCaller) => Promise<Record<string, unknown>>;


export const abouts: Readonly<Record<string, About>> = {
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
  Databases: async (db, who) => renderStatus({ estab: who.estab, endpoint: 'Databases', requestId: null, databases: await readDatabases(db, who.estab) }),
};

function describe({ name, description, scope, databases, parameters, fields }: (typeof endpoints)[number]): Record<string, unknown> {
  return {
    Id: name,
    Name: name,
    Method: 'GET',
    Path: `/api/v1/School/{estab}/${name}`,
    Description: description,
    Scope: scope,
    Databases: databases,
    Parameters: [
      ...parameters.map((parameter) => ({ Name: parameter.name, Required: parameter.required, Description: parameter.description })),
      ...['page', 'pageSize', 'updatedSince', 'onlyGetDBStatus', 'callbackUrl'].map((one) => ({ Name: one, Required: false, Description: null })),
    ],
    Fields: fields,
  };
}
