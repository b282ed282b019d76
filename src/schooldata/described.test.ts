// Holds every row of every data endpoint to what is described, with all scopes, over the demo and over a small school: each field
// is there, of its kind, in its order, and there is no other. What is serialised by its schema has lost nothing.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { createValidate, readDocuments } from '../../test/described.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { attendanceCsv, smallPackage } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { scopeDescriptions, scopeNames } from '../access/scopes.ts';
import { registerDays } from '../collection/connectors/demo/demo-attendance.ts';
import { readConfig } from '../config.ts';
import { prepareDemo } from '../demo.ts';
import { claimSchemas } from '../identity/oidc/describe-sign-in.ts';
import { signInClaims } from '../identity/oidc/provider.ts';
import { endpoints } from './catalogue.ts';

type Rows = Record<string, unknown>[];

const service = await useService();
const document = (await readDocuments(service.app))['school-data'];
const validate = createValidate(document);
/** Of the last one the registers may not have been taken yet. */
const days = registerDays(new Date());
const queries: Readonly<Record<string, string>> = {
  AttendanceForDate: `date=${days.at(-2)}`,
  AttendanceForDateRange: `dateFrom=${days.at(-3)}&dateTo=${days.at(-2)}`,
};
const estabs: string[] = ['small'];
let ask: (estab: string, path: string) => Promise<Response>;

before(async () => {
  const config = readConfig({ DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir });
  const { estab } = await prepareDemo(service.db, service.seal, config);
  const marks = attendanceCsv(`p1,${days.at(-2)},AM,L,12,bus`, `p2,${days.at(-2)},PM,I,,`);
  await service.addSchool('small', smallPackage({}, { raw: { 'attendance.csv': marks } }));
  estabs.push(estab);
  const client = await service.addClient('reader', estabs);
  ask = (of, path) => client.s(of, path);
  await service.work();
  await until('the marks of the demo', async () => (await ask(estab, `AttendanceForDate?${queries.AttendanceForDate}`)).status === 200);
});

for (const { name, fields, valuesOfId } of endpoints) {
  test(`${name}: every row`, async () => {
    for (const estab of estabs) {
      const response = await ask(estab, `School/${estab}/${name}?${queries[name] ?? ''}`);
      const body = (await response.json()) as Record<string, Rows>;
      assert.equal(response.status, 200, JSON.stringify(body));
      assert.deepEqual(validate({ $ref: `#/components/schemas/${name}Answer` }, body).slice(0, 3), [], `${name} of ${estab}`);
      const rows = body[name] ?? [];
      assert.ok(rows.length > 0, `${name} of ${estab}`);
      for (const row of rows) assert.deepEqual(Object.keys(row), fields, `${name} of ${estab}`);
      const chosen = (await (await ask(estab, `${name}?${queries[name] ?? ''}&select=${fields[0]}&pageSize=1&updatedSince=2020-01-01`)).json()) as object;
      assert.deepEqual(validate({ $ref: `#/components/schemas/${name}Answer` }, chosen), [], `some of ${name} of ${estab}`);
      if (!valuesOfId) continue;
      const one = await ask(estab, `School/${estab}/${name}/${encodeURIComponent(String(rows[0]?.Id))}`);
      assert.deepEqual(validate({ $ref: `#/components/schemas/${name}Answer` }, await one.json()), [], `one of ${name} of ${estab}`);
    }
  });
}

test('what is serialised by its schema has lost nothing', async () => {
  const read = async (path: string) => (await (await ask('small', path)).json()) as Record<string, unknown>;
  assert.deepEqual((await read('Scopes')).Scopes, scopeNames.map((name) => ({
    Name: name, Category: scopeDescriptions[name].category, Description: scopeDescriptions[name].description, Granted: true,
  })));
  const { Queries } = await read('Queries');
  assert.deepEqual((Queries as { Fields: string[] }[]).map(({ Fields }) => Fields), endpoints.map(({ fields }) => fields));
  const { Expires, ...details } = await read('TokenDetails');
  assert.match(String(Expires), /^\d{4}-/);
  assert.deepEqual(details, {
    Estab: 'small', Name: 'School small', RelyingParty: 'reader', Scopes: [...scopeNames], Message: null, ExceptionType: null, ExceptionMessage: null,
    InnerException: null,
  });
});

test('each claim of who signs in is described', () => {
  assert.deepEqual(Object.keys(claimSchemas), Object.values(signInClaims).flat());
});
