// In charge of which test files share a process: reading the sources and warming up costs each process seconds. The files
// of one are loaded together; then their tests run one file after the other, each file a suite with its own hooks.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const filesInOne = 12;
/** These start the service or servers as processes, have a browser until their process ends, count what their process holds, or set its clock. */
const signsOfOwnProcess = [
  "/processes.ts'", "/two-servers.ts'", "/browser.ts'", "/accessibility.ts'", 'getActiveResourcesInfo', 'process.memoryUsage', 'mock.timers.enable',
];

/** What to run: first files as they are, which take longest, then programs in the folder that each run several. */
export function shareProcesses(root: string, files: readonly string[], folder: string): string[] {
  const needsOwn = (file: string) => signsOfOwnProcess.some((sign) => readFileSync(join(root, file), 'utf8').includes(sign));
  const alone = files.filter(needsOwn);
  const shared = files.filter((file) => !alone.includes(file)).toSorted();
  const programs = Math.ceil(shared.length / filesInOne);
  const written = Array.from({ length: programs }, (_, at) => {
    const program = join(folder, `shared-${at}.mjs`);
    // Neighbours go to different programs: those of one folder are alike in length.
    const own = shared.filter((_file, place) => place % programs === at);
    const suites = own.map((file) => `suite(${JSON.stringify(file)}, () => import(${JSON.stringify(pathToFileURL(join(root, file)).href)}));\n`);
    writeFileSync(program, `import { suite } from 'node:test';\n${suites.join('')}`);
    return program;
  });
  return [...alone.map((file) => join(root, file)), ...written];
}
