// In charge of callers who are an application, at one school by its school token or by itself by its management token.
import type { FastifyRequest } from 'fastify';
import { SchoolbellError } from '../errors.ts';
import type { RequireManagementCaller } from './management-caller.ts';
import type { RequireSchoolCaller } from './school-caller.ts';

/** estab: undefined where it speaks for itself. */
export type ApplicationCaller = { rp: string; estab: string | undefined };
export type RequireApplicationCaller = (request: FastifyRequest) => Promise<ApplicationCaller>;

export function createApplicationCaller(requireSchool: RequireSchoolCaller, requireManagement: RequireManagementCaller): RequireApplicationCaller {
  return (request) =>
    bySchoolOrManagement<ApplicationCaller>(
      async () => {
        const { rp, estab } = await requireSchool(request);
        return { rp, estab };
      },
      async () => ({ ...(await requireManagement(request)), estab: undefined }),
    );
}

/** A token says of which kind it is only when it is checked. */
export function bySchoolOrManagement<T>(bySchool: () => Promise<T>, byManagement: () => Promise<T>): Promise<T> {
  return bySchool().catch((error: unknown) => {
    if (error instanceof SchoolbellError && error.code === 'invalid_token' && /another kind/.test(error.message)) return byManagement();
    throw error;
  });
}
