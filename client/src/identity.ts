// In charge of the identity operations: users and logins of a school, users that no roster has, QR codes.
import type { Abortable } from './call.ts';
import type { PresenceType } from './rows.ts';
import type { Session } from './session.ts';

const names = ['Id', 'DisplayName', 'FirstName', 'Surname', 'LastLoggedIn', 'UserName', 'Roles', 'PresenceType', 'WorkEmail', 'Email'] as const;

/** LastLoggedIn and UserName are empty where there is no login. */
export type IdentityUser = Record<Exclude<(typeof names)[number], 'PresenceType'>, string> & { PresenceType: PresenceType };

export type ManualUser = { firstName: string; lastName: string; email: string; title?: string; displayName?: string; mobile?: string };

export type Identity = {
  getUsers(options?: Abortable & { presenceType?: PresenceType | undefined }): Promise<IdentityUser[]>;
  /** Gives the new password: the one given, or one that was made. */
  resetPassword(
    given: { username: string; password?: string | undefined; changeAtNextLogin?: boolean | undefined; unlockLogin?: boolean | undefined },
    options?: Abortable,
  ): Promise<string>;
  /** The person is mailed a link to register. */
  createLogin(presenceId: string, options?: Abortable): Promise<IdentityUser>;
  /** All or none. */
  createUser(users: readonly ManualUser[], options?: Abortable): Promise<Required<ManualUser>[]>;
};

export type QrCodeOptions = Abortable & {
  centerImageUrl?: string | undefined;
  centerImagePercent?: number | undefined;
  type?: 'QRCode' | 'ArtCode' | undefined;
  format?: 'png' | 'svg' | undefined;
};

const root = '/api/v1/Identity';

/** @internal */
export function createIdentity(session: Session, estab: string): Identity {
  return {
    getUsers: ({ presenceType, signal } = {}) => session.json({ path: `${root}/GetUsers`, query: { presenceType }, signal }),
    async resetPassword({ username, password, changeAtNextLogin, unlockLogin }, { signal } = {}) {
      // In the body: addresses are written down on the way, and a password must not be.
      const body = { username, password, ChangeAtNextLogin: changeAtNextLogin, UnlockLogin: unlockLogin };
      return (await session.json<{ Password: string }>({ method: 'POST', path: `${root}/ResetPassword`, body, signal })).Password;
    },
    async createLogin(presenceId, { signal } = {}) {
      const body = { OrgId: estab, PresenceId: presenceId };
      const [made = {}] = await session.json<Record<string, string>[]>({ method: 'POST', path: `${root}/CreateLogin`, body, signal });
      // The same record as elsewhere, whose names this operation writes in camelCase.
      return Object.fromEntries(names.map((name) => [name, made[name.charAt(0).toLowerCase() + name.slice(1)] ?? ''])) as IdentityUser;
    },
    createUser: (users, { signal } = {}) => createUser(session, { orgId: estab, manualUser: users }, signal),
  };
}

/** @internal */
export async function createUser(session: Session, body: Record<string, unknown>, signal: AbortSignal | undefined): Promise<Required<ManualUser>[]> {
  return (await session.json<{ manualUser: Required<ManualUser>[] }>({ method: 'POST', path: `${root}/CreateUser`, body, signal })).manualUser;
}

/** @internal The bytes of the picture. */
export async function generateQrCode(session: Session, text: string, options: QrCodeOptions = {}): Promise<Uint8Array> {
  const { centerImageUrl, centerImagePercent, type, format = 'png', signal } = options;
  const headers = { accept: format === 'svg' ? 'image/svg+xml' : 'image/png' };
  const body = { text, centerImageUrl, centerImagePercent, QRType: type };
  return (await session.send({ method: 'POST', path: `${root}/GenerateQRCode`, headers, body, repeatable: true, signal })).bytes;
}
