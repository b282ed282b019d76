// A service whose database is elsewhere starts without a DATA_DIR that can be used.
import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertFailed, useCommands } from './commands.ts';
import { home, longest, readyStatus, start, stop } from './processes.ts';
import { testSecretKey, useService } from './service.ts';

const service = await useService();
await service.addSchool('S1');
const settings = { DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey };
const { run } = useCommands(settings);
const [file, dangling] = [join(home, 'file'), join(home, 'dangling')];
writeFileSync(file, '');
symlinkSync(join(home, 'gone'), dangling);

for (const [dataDir, fault] of [
  [join(file, 'below'), /not a directory/],
  [dangling, /link to a folder that does not exist/],
  ['/proc/schoolbell', /does not allow new folders/],
] as const) {
  test(`with DATABASE_URL and DATA_DIR ${dataDir.replace(home, '')} the start logs one warning and serves; an import names the fault`, longest, async () => {
    const running = await start(dataDir, { env: settings });
    assert.equal(await readyStatus(running), 200);
    const warnings = running.output().split('\n').filter((line) => line.includes('DATA_DIR'));
    assert.equal(warnings.length, 1, running.output());
    assert.match(warnings[0] ?? '', new RegExp(`^schoolbell: warning: DATA_DIR ${dataDir}: .*${fault.source}.*[Nn]ame a`));
    const imported = await run(['import', '--estab', 'S1', 'samples/hill-top-school'], { ...settings, DATA_DIR: dataDir });
    assertFailed(imported, new RegExp(`\\(DATA_DIR\\): .*${fault.source}`));
    await stop(running);
  });
}
