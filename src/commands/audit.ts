// In charge of the command that shows what was done, by whom.
import { listTrail, trailKinds, type TrailKind } from '../access/trail.ts';
import { SchoolbellError } from '../errors.ts';
import { optionalText, optionalTime, type Command } from './command.ts';
import { renderTable } from './table.ts';

const listed = 500;

export const auditCommands: readonly Command[] = [
  {
    name: 'audit',
    effect: 'reads',
    help: `Shows what was done, newest first, ${listed} at most: by operators, decisions on applications, identity operations and sign-ins, erasures.`,
    options: {
      since: { value: '<time>', help: 'for example 2026-11-01 or 2026-11-01T08:00:00Z' },
      estab: { value: '<id>', help: 'of this establishment alone; then also what applications read, by day' },
      rp: { value: '<id>', help: 'about this application alone' },
      kind: { value: '<kind>', help: `one of ${trailKinds.join(', ')}` },
      before: { value: '<place>', help: 'where the list before ended, as it says' },
    },
    async run({ db }, given) {
      const [estab, rp] = [optionalText(given, 'estab'), optionalText(given, 'rp')];
      const asked = { estab, rp, kind: parseKind(optionalText(given, 'kind')), since: optionalTime(given, 'since') };
      const { entries: data, next } = await listTrail(db, { ...asked, before: optionalText(given, 'before'), most: listed });
      return {
        data,
        lines: [...renderTable(
          data,
          [
            { title: 'At', of: (one) => one.at },
            { title: 'Kind', of: (one) => one.kind },
            { title: 'What', of: (one) => one.what },
            { title: 'By', of: (one) => one.by },
            { title: 'Estab', of: (one) => one.estab },
            { title: 'Application', of: (one) => one.rp },
            { title: 'Outcome', of: (one) => one.outcome ?? (one.kind === 'operator' ? 'cut off' : undefined) },
            { title: 'From', of: (one) => one.from },
            { title: 'Detail', of: (one) => one.detail },
          ],
          'nothing was done',
        ), ...(next === undefined ? [] : [`there may be more: --before ${next}`])],
      };
    },
  },
];

function parseKind(text: string | undefined): TrailKind | undefined {
  const kind = trailKinds.find((one) => one === text);
  if (text !== undefined && !kind) throw new SchoolbellError('invalid_request', `--kind "${text}": must be one of ${trailKinds.join(', ')}`);
  return kind;
}
