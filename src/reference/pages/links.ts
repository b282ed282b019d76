// In charge of where things are in the reference.
import type { SurfaceName } from '../surfaces.ts';

export const docsPath = '/docs';
export const searchPath = `${docsPath}/search`;
export const webhooksPath = `${docsPath}/webhooks`;
export const guidesPath = `${docsPath}/guides`;
export const guidePath = (name: string): string => `${guidesPath}/${name}`;
export const surfacePath = (surface: SurfaceName): string => `${docsPath}/${surface}`;
export const tagPath = (surface: SurfaceName, tag: string): string => `${surfacePath(surface)}/${slugOf(tag)}`;
export const operationPath = (surface: SurfaceName, tag: string, id: string): string => `${tagPath(surface, tag)}#${id}`;
export const schemasPath = (surface: SurfaceName): string => `${surfacePath(surface)}/schemas`;
export const schemaPath = (surface: SurfaceName, name: string): string => `${schemasPath(surface)}#${name}`;
export const credentialPath = (name: string): string => `${docsPath}#credential-${name}`;
export const eventPath = (id: string): string => `${webhooksPath}#${id}`;

/** Of a tag or a title. What stands before a colon, the surface or the product, is said by the page around it. */
export const shortName = (long: string): string => {
  const words = long.replace(/^[^:]+: /, '');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
};
const slugOf = (tag: string) => shortName(tag).toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
