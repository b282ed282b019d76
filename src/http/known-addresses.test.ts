// Covers what is said of verbs that an address does not take, and of addresses that are none: the same everywhere, and true.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rootA, rootB, useService } from '../../test/service.ts';

const service = await useService();
await service.addSchool('S1');
const client = await service.addClient('app', ['S1']);

const ask = (method: string, path: string) => client.s('S1', path, { method });
const verbs = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'];

test('Allow has the verbs that are taken, whichever is refused, and none that is refused then', async () => {
  for (const [path, allow] of [
    ['Webhook', 'GET, POST, HEAD'], ['Webhook/x', 'GET, DELETE, HEAD'], ['Webhook/x/Test', 'POST'], ['Deliveries', 'GET, HEAD'],
    ['Deliveries/x', 'GET, HEAD'], ['Deliveries/x/Replay', 'POST'], ['Students', 'GET, HEAD'], ['Students/x', 'GET, HEAD'], ['Students/a%2Fb/', 'GET, HEAD'],
    ['School/S1/Students/x', 'GET, HEAD'], ['School/S1/students', 'GET, HEAD'], ['School/S1/Attendance', 'POST'], ['Attendance/S1', 'POST'],
    ['Writeback/x', 'GET, HEAD'], ['TokenDetails', 'GET, HEAD'], ['Identity/GetUsers', 'GET, HEAD'], ['Identity/GenerateQRCode', 'GET, POST, HEAD'],
    ['identity/createlogin/', 'POST'], ['School/S1/Roster', 'PUT'], ['School/S1/Roster/x', 'GET, HEAD'],
  ] as const) {
    const taken = [];
    // Of verbs that nobody offers the two names say together what they take.
    for (const method of verbs.filter((verb) => verb !== 'PROPFIND' || !/^School.S1.(Attendance|students)$/.test(path))) {
      const response = await ask(method, path);
      if (response.status === 405) assert.equal(response.headers.get('allow'), allow, `${method} ${path}`);
      else taken.push(method);
    }
    assert.deepEqual([...taken, ...(taken.includes('GET') ? ['HEAD'] : [])], allow.split(', '), path);
  }
});

test('outside /api/v1 too', async () => {
  for (const [path, allow] of [
    ['/healthz', 'GET, HEAD'], ['/.well-known/jwks.json', 'GET, HEAD'], ['/api/oauth/GetToken', 'POST'], [`${rootA}/token`, 'POST'],
    [`${rootB}/auth/token/`, 'POST'], [`${rootA}/users`, 'GET, HEAD'], [`${rootB}/Students/x`, 'GET, HEAD'], ['/api/Manage/SchoolRegister', 'GET, POST, HEAD'],
    ['/api/manage/SchoolRegister/x', 'GET, DELETE, HEAD'],
  ] as const) {
    for (const method of ['PATCH', 'PROPFIND']) {
      const response = await fetch(service.url + path, { method });
      assert.deepEqual([response.status, response.headers.get('allow')], [405, allow], `${method} ${path}`);
    }
  }
});

test('what there is not is a 404 with every verb, in words of its own', async () => {
  for (const [path, message] of [
    ['Nothing', /no "Nothing"; \/api\/v1\/Queries/], ['Nothing/x', /no "Nothing"/],
    ['School/S1/Nothing', /no "Nothing"/], ['School/S1/Nothing/x', /no "Nothing"/],
    ['Identity/Nothing', /no operation "Nothing"; there are ResetPassword, GetUsers, GenerateQRCode, CreateLogin, CreateUser/], ['Calendar/x', /no rows by Id/],
    ['Attendance', /written with POST to \/api\/v1\/School/], ['School/S1/Attendance/x', /written with POST to/],
  ] as const) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const response = await ask(method, path);
      assert.equal(response.status, 404, `${method} ${path}`);
      assert.match(((await response.json()) as { ExceptionMessage: string }).ExceptionMessage, message);
    }
  }
});

test('a NUL in an address is nobody’s name, and no fault of the service', async () => {
  for (const path of [
    'School/%00/Roster', 'School/S1%00/Roster/x', 'School/%00/Students', 'Attendance/%00', 'Webhook/%00', 'Deliveries/%00', 'Writeback/%00',
  ]) {
    for (const method of ['GET', 'PUT', 'POST', 'DELETE']) {
      const response = await fetch(`${service.url}/api/v1/${path}`, { method, headers: { authorization: 'Bearer sb_upload_x' } });
      assert.ok(response.status >= 400 && response.status < 500, `${method} ${path}: ${response.status}`);
      assert.ok((await ask(method, path)).status < 500, `${method} ${path}`);
    }
  }
});
