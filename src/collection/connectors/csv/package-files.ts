// In charge of which files a package has, in each edition of OneRoster: those of rostering, and those that are read past.
import { allResources } from '../../../roster/collections.ts';
import type { Edition } from '../../../roster/resource.ts';
import { profilesFile } from '../../../roster/resources/user-profile.ts';
import { rolesFile } from '../../../roster/resources/user-role.ts';

/** Names without `.csv`, as a manifest has them. versions: what it calls the edition, the first as we write it. */
type PackageFiles = Readonly<{ edition: Edition; versions: readonly [string, ...string[]]; rostering: readonly string[]; others: readonly string[] }>;

export const nameInManifest = (file: string): string => file.replace(/\.csv$/, '');

const rostering = allResources.map(({ file }) => nameInManifest(file));
const others = ['categories', 'classResources', 'courseResources', 'lineItems', 'resources', 'results'];
const added = ['userResources', 'scoreScales', 'lineItemScoreScales', 'resultScoreScales', 'lineItemLearningObjectiveIds', 'resultLearningObjectiveIds'];

export const packageFiles: Readonly<Record<Edition, PackageFiles>> = {
  v1p1: { edition: 'v1p1', versions: ['1.1'], rostering, others },
  v1p2: {
    edition: 'v1p2',
    // The CSV binding was issued again as 1.2.1.
    versions: ['1.2', '1.2.1'],
    rostering: [...rostering, ...[rolesFile, profilesFile].map(({ name }) => nameInManifest(name))],
    others: [...others, ...added],
  },
};
