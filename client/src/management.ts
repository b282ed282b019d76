// In charge of what an application does for itself: its schools and invitations, all its deliveries, users of schools that are
// being asked, QR codes.
import type { Abortable, Settings } from './call.ts';
import { pathPart } from './envelope.ts';
import { createUser, generateQrCode, type ManualUser, type QrCodeOptions } from './identity.ts';
import type { Scope } from './rows.ts';
import { createSession, schoolAccess } from './session.ts';
import { createDeliveries, type Deliveries } from './subscriptions.ts';

export type SchoolState = 'Proposed' | 'Invited' | 'Approved' | 'Installing' | 'Live' | 'Paused' | 'Declined' | 'Revoked' | 'Expired';

export type OwnSchool = {
  Estab: string;
  SchoolName: string;
  State: SchoolState;
  Scopes: Scope[];
  ScopesAsked: Scope[];
  Proposed: string | null;
  Invited: string | null;
  Expires: string | null;
  Approved: string | null;
  Live: string | null;
  Changed: string;
};

/** scopes: all that the application asks for, unless given. */
export type Invitation = { estab: string; schoolName: string; contactEmail: string; reason?: string | undefined; scopes?: readonly Scope[] | undefined };

/** ok: an invitation is on its way, or none is needed; message: which, or what was wrong. */
export type Invited = { estab: string; ok: boolean; message: string };

export type Management = {
  schools: {
    list(options?: Abortable): Promise<OwnSchool[]>;
    get(estab: string, options?: Abortable): Promise<OwnSchool | undefined>;
    invite(schools: readonly Invitation[], options?: Abortable): Promise<Invited[]>;
    withdraw(estab: string, options?: Abortable): Promise<void>;
  };
  deliveries: Deliveries;
  createUser(estab: string, users: readonly ManualUser[], options?: Abortable & { authProcessFlow?: boolean | undefined }): Promise<Required<ManualUser>[]>;
  generateQRCode(text: string, options?: QrCodeOptions): Promise<Uint8Array>;
};

const path = '/api/Manage/SchoolRegister';

/** @internal */
export function createManagement(settings: Settings, { rp, secret }: { rp: string; secret: string }): Management {
  const session = createSession(settings, schoolAccess({ rp, secret }));
  return {
    schools: {
      list: async ({ signal } = {}) => (await session.json<{ Schools: OwnSchool[] }>({ path, signal })).Schools,
      get: async (estab, { signal } = {}) => (await session.find<{ Schools: OwnSchool[] }>({ path: `${path}/${pathPart(estab)}`, signal }))?.Schools[0],
      async invite(schools, { signal } = {}) {
        const body = {
          Schools: schools.map(({ estab, schoolName, contactEmail, reason, scopes }) => ({
            Estab: estab, SchoolName: schoolName, SchoolContactEmail: contactEmail, reason, ScopesToAuthorise: scopes ?? null,
          })),
        };
        // Again within an hour, a school is not invited twice.
        const answer = await session.json<{ Schools: { Estab: string; Status: string; Message: string }[] }>({
          method: 'POST', path, body, repeatable: true, signal,
        });
        return answer.Schools.map(({ Estab, Status, Message }) => ({ estab: Estab, ok: Status === 'OK', message: Message }));
      },
      async withdraw(estab, { signal } = {}) {
        await session.send({ method: 'DELETE', path: `${path}/${pathPart(estab)}`, signal });
      },
    },
    deliveries: createDeliveries(session),
    createUser: (estab, users, { authProcessFlow = false, signal } = {}) =>
      createUser(session, { orgId: estab, partnerId: rp, manualUser: users, authProcessFlow }, signal),
    generateQRCode: (text, options) => generateQrCode(session, text, options),
  };
}
