// In charge of whom the pages and actions of the console are for. The walk asks here before anything is looked for, so that a
// developer learns of nothing that is not theirs, not even whether it is there.
import { SchoolbellError } from '../errors.ts';
import { applicationRoute } from './links.ts';
import type { Action, Page, Visit } from './visit.ts';

type Place = Pick<Page, 'path' | 'developers'> & Pick<Partial<Action>, 'may' | 'run'>;

/** What developers see that is about themselves; all else that is for them belongs to an application. */
const ofThemselves = ['/console', '/console/account', '/console/account/second-factor'] as const;

const isOfThemselves = (path: string) => ofThemselves.some((own) => own === path);
const isOfApplication = (path: string) => path === applicationRoute || path.startsWith(`${applicationRoute}/`);

/** Undefined: it is for them. A page that is none of theirs and an application that is none are not told apart from what never was. */
export function findRefusal({ path, developers, may, run }: Place, { operator, params }: Pick<Visit, 'operator' | 'params'>): SchoolbellError | undefined {
  const { role, applications } = operator;
  if (may === 'self' || role === 'admin') return undefined;
  if (role === 'viewer')
    return run && new SchoolbellError('forbidden', 'You may look at everything here and change nothing: your role is viewer. Ask an admin.');
  if (!developers) return new SchoolbellError('not_found', 'There is nothing at this address.');
  if (isOfApplication(path) && !applications.includes(params.rp ?? '')) return new SchoolbellError('not_found', 'There is no such application.');
  return undefined;
}

/**
 * A place for developers that says of no application whose it is would be open to those of all, and so would be what everybody may do
 * to themselves anywhere but on their own pages: no service starts with one.
 */
export function requireOwnPlaces(places: readonly Place[]): void {
  const open = places.find(({ path, developers }) => developers && !isOfApplication(path) && !isOfThemselves(path));
  if (open) throw new Error(`${open.path} is for developers, and not below ${applicationRoute}`);
  const strange = places.find(({ path, may }) => may === 'self' && !isOfThemselves(path.slice(0, path.lastIndexOf('/'))));
  if (strange) throw new Error(`${strange.path} is for everybody, and not below a page of their own`);
}
