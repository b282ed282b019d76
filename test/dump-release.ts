// node test/dump-release.ts <file>: writes the backup that a release stores in test/released. `npm run release` runs it in the release's tree.
import { writeDump } from './filled-database.ts';

const [file = ''] = process.argv.slice(2);
await writeDump(file);
