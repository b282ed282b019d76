// In charge of the process of one command: runs what its arguments say, prints, and ends with 0 or 1.
import { runCommandLine } from './command-line.ts';

const { code, stdout, stderr } = await runCommandLine(process.argv.slice(2));
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = code;
