// In charge of the command that gives a school's export job its upload token.
import { requireEstablishment } from '../access/establishments.ts';
import { makeUploadToken, removeUploadToken } from '../access/upload-tokens.ts';
import { renderUploadLine, uploadUrl } from '../collection/upload-routes.ts';
import { SchoolbellError } from '../errors.ts';
import { text, type Command } from './command.ts';

export const uploadTokenCommands: readonly Command[] = [
  {
    name: 'school upload-token',
    effect: 'changes',
    help: "Makes the token with which a school's export job sends its package, in place of the one before.",
    options: {
      estab: { value: '<id>', help: 'the establishment', required: true },
      remove: { value: undefined, help: 'take the token away and make no new one' },
    },
    async run({ db, config }, given) {
      const { estab } = await requireEstablishment(db, text(given, 'estab'));
      if (given.options.remove === true) {
        if (!(await removeUploadToken(db, estab, 'operator'))) throw new SchoolbellError('not_found', `${estab} has no upload token`);
        return { data: { estab, removed: true }, lines: [`removed the upload token of ${estab}; whatever still sends with it is refused`] };
      }
      const token = await makeUploadToken(db, estab, 'operator');
      const url = uploadUrl(config.publicUrl, estab);
      const curl = renderUploadLine(url, token);
      return {
        data: { estab, token, url, curl },
        lines: [
          `the upload token of ${estab}, shown this once; one made before opens nothing any more:`, token, '', 'the export job sends its zip with:', curl,
        ],
      };
    },
  },
];
