// In charge of the process of one command: runs what its arguments say, prints, asks where somebody is there, and ends
// with 0 or 1.
import { createInterface } from 'node:readline';
import { runCommandLine } from './command-line.ts';

/** On standard error, so that standard output holds what was asked for alone. The end of what is typed is no answer. */
function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    terminal.once('close', () => resolve(''));
    terminal.question(question, (answer) => {
      resolve(answer);
      terminal.close();
    });
  });
}

const somebody = process.stdin.isTTY && process.stderr.isTTY;
const { code, stdout, stderr } = await runCommandLine(process.argv.slice(2), undefined, somebody ? ask : undefined);
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = code;
