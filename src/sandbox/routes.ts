// In charge of the addresses at which an application of the demo steers the sandbox for itself and its demo schools. They are there only
// where there is a demo.
import type { FastifyInstance } from 'fastify';
import type { RequireManagementCaller } from '../access/management-caller.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { cutText } from '../http/cut-text.ts';
import { fine } from '../http/envelope.ts';
import type { Control } from './controls.ts';
import { described, describeShow, sandboxSchemas } from './describe.ts';
import { parseValues, pascal } from './field.ts';
import { describeHeld, readStanding, type Standing } from './standing.ts';
import { requireWhom, useControl } from './steer.ts';

/** requireManagement: of callers whose requests the sandbox lets through, so that it can always be steered. */
export type Sandbox = { db: Db; requireManagement: RequireManagementCaller; now: () => number };

const root = '/api/sandbox';

export function sandboxRoutes(app: FastifyInstance, { db, requireManagement, now }: Sandbox): void {
  for (const schema of sandboxSchemas) app.addSchema(schema);
  app.get(root, describeShow, async (request) => {
    const whom = await requireWhom(db, (await requireManagement(request)).rp);
    return { Sandbox: renderStanding(await readStanding(db, whom, now())), ...fine };
  });
  for (const { control, route } of described)
    app.post(`${root}/${control.name}`, route, async (request) => {
      const whom = await requireWhom(db, (await requireManagement(request)).rp);
      const given = keysInAnyCase(request.body);
      requireKnown(Object.keys(request.body ?? {}), control);
      const values = parseValues(control, ({ name }) => given.get(pascal(name).toLowerCase()), ({ name }) => pascal(name));
      await useControl(db, control, whom, values, now());
      return { Sandbox: renderStanding(await readStanding(db, whom, now())), ...fine };
    });
}

function keysInAnyCase(body: unknown): ReadonlyMap<string, unknown> {
  if (body === undefined || body === null) return new Map();
  if (typeof body !== 'object' || Array.isArray(body)) throw new SchoolbellError('invalid_request', 'The body must be a JSON object.');
  return new Map(Object.entries(body).map(([name, value]) => [name.toLowerCase(), value]));
}

/** What somebody believes to have said, and is not heard, is done to another school or for another time. */
function requireKnown(given: readonly string[], { fields }: Control): void {
  const known = fields.map(({ name }) => pascal(name));
  const strange = given.find((key) => !known.some((name) => name.toLowerCase() === key.toLowerCase()));
  if (strange === undefined) return;
  const there = known.length === 0 ? 'this takes none' : `there are ${known.join(', ')}`;
  throw new SchoolbellError('invalid_request', `"${cutText(strange, 40)}": there is no such field; ${there}`);
}

/** As the API has it; commands print the same. */
export function renderStanding({ rp, faults: { events, tokens, answers }, schools }: Standing) {
  return {
    Application: rp,
    Events: events ? { Mode: events.mode, Seconds: events.seconds ?? 0, Until: events.until.toISOString() } : null,
    Tokens: tokens ? { Seconds: tokens.seconds ?? 0, Until: tokens.until.toISOString() } : null,
    Answers: answers
      ? { Status: answers.mode, Remaining: answers.remaining, RetryAfter: answers.seconds ?? 1, Until: answers.until.toISOString() }
      : null,
    Schools: schools.map(({ estab, mode, modeUntil, clock, ahead, happenings, collecting, held }) => ({
      Estab: estab,
      Mis: mode,
      MisUntil: modeUntil?.toISOString() ?? null,
      Clock: clock.toISOString(),
      AheadSeconds: ahead,
      Happenings: happenings.map(({ kind, at, of }) => ({ Kind: kind, At: at, Of: of })),
      Collecting: collecting,
      Held: held ? { Import: held.id, At: held.at.toISOString(), Message: describeHeld(estab, held) } : null,
    })),
  };
}
