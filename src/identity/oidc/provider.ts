// In charge of the OpenID Connect provider: authorization code with PKCE, for the applications that a school authorises
// with the scope Identity; that authorisation is the consent. The library is loaded with the first provider: 25 MB, which a service
// without sign-ins does not need.
import type { Configuration, interactionPolicy, KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Seal } from '../../access/seal.ts';
import type { Db } from '../../db/connect.ts';
import { pageHeaders } from '../../http/html.ts';
import { renderMessage } from '../../http/pages/message.ts';
import { findPresence } from '../presences.ts';
import { isWelcome, matchesClientSecret } from './clients.ts';
import { readProviderKeys, requireGeneration } from './keys.ts';
import { createRecords } from './records.ts';

export const accountId = (estab: string, presenceId: string) => `${estab}|${presenceId}`;
/** The library announces it where nothing else is said; only applications that are told of sign-outs would get it. */
const notGiven = { sid: false } as unknown as Record<string, null>;
const estabOf = (id: string) => id.split('|', 1)[0] ?? '';

/** What an application is told of who signs in to it, by the scope that it asks for. */
export const signInClaims = {
  openid: ['sub', 'presence_id', 'sourced_id', 'role', 'estab'],
  profile: ['name', 'given_name', 'family_name', 'preferred_username'],
  email: ['email', 'email_verified'],
};

/** Gives the provider with the keys of this moment: made at the first request, and anew when the keys are others. */
export function createPresentProvider(db: Db, seal: Seal, publicUrl: string): () => Promise<Provider> {
  let made: { generation: string; provider: Promise<Provider> } | undefined;
  return async () => {
    const generation = await requireGeneration(db, seal);
    if (made?.generation === generation) return made.provider;
    const making = { generation, provider: createProvider(db, seal, publicUrl) };
    made = making;
    // What failed is tried again at the next request.
    making.provider.catch(() => {
      if (made === making) made = undefined;
    });
    return making.provider;
  };
}

async function createProvider(db: Db, seal: Seal, publicUrl: string): Promise<Provider> {
  const library = await import('oidc-provider');
  const { jwks, cookieKeys } = await readProviderKeys(db, seal);
  const secure = publicUrl.startsWith('https:');
  const configuration: Configuration = {
    adapter: createRecords(db, async (id) => (await findAccount(db, id)) !== undefined),
    jwks: jwks as Configuration['jwks'],
    cookies: { keys: cookieKeys, long: { secure, sameSite: 'lax' }, short: { secure, sameSite: 'lax' } },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      revocation: { enabled: true, allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId },
      // Announced unless they are off; some clients use whatever is announced.
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
    },
    clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
    pkce: { required: () => true },
    scopes: ['openid', 'profile', 'email'],
    claims: { ...signInClaims, ...notGiven },
    responseTypes: ['code'],
    conformIdTokenClaims: false,
    interactions: { policy: policyOfSchool(library.interactionPolicy.base()), url: (_ctx, interaction) => `/oidc/interaction/${interaction.uid}` },
    ttl: { Interaction: 3600, Session: 12 * 3600, Grant: 12 * 3600, AccessToken: 3600, AuthorizationCode: 60, IdToken: 3600 },
    findAccount: async (ctx, id, token) => {
      // A code or token is as good as the school's authorisation at the moment it is shown.
      if (token && !(await isWelcome(db, ctx.oidc.client?.clientId ?? '', estabOf(id)))) return undefined;
      return findAccount(db, id);
    },
    loadExistingGrant: (ctx) => grantOfSchool(db, ctx),
    renderError: async (ctx, out) => {
      ctx.set(pageHeaders);
      const text = `Go back to the application and try again. If it happens again, tell those who run it: ${out.error}: ${out.error_description ?? ''}`;
      ctx.body = renderMessage({ title: 'This did not work', text, link: { path: '/login', label: 'To the sign-in page' } });
    },
  };
  const provider = new library.Provider(`${publicUrl}/oidc`, configuration);
  // Addresses are those of PUBLIC_URL, which the routes put into the headers.
  provider.proxy = true;
  provider.Client.prototype.compareClientSecret = async function compare(this: { clientId: string }, secret: string) {
    return matchesClientSecret(db, this.clientId, secret);
  } as never;
  return provider;
}

/** Nobody is asked for consent, whatever kind of client it is. */
function policyOfSchool(policy: interactionPolicy.DefaultPolicy): interactionPolicy.DefaultPolicy {
  policy.get('consent')?.checks.remove('native_client_prompt');
  return policy;
}

async function findAccount(db: Db, id: string) {
  const estab = estabOf(id);
  const presenceId = id.slice(estab.length + 1);
  const presence = await findPresence(db, estab, presenceId);
  // Who has left, or has no login any more, is signed in nowhere.
  if (!presence?.registered) return undefined;
  return {
    accountId: id,
    claims: async () => ({
      sub: id,
      presence_id: presenceId,
      ...(presence.sourcedId === null ? {} : { sourced_id: presence.sourcedId }),
      role: presence.roles,
      estab,
      name: presence.displayName,
      given_name: presence.firstName,
      family_name: presence.surname,
      preferred_username: presence.userName,
      ...(presence.workEmail === '' ? {} : { email: presence.workEmail, email_verified: presence.emailVerified }),
    }),
  };
}

/** Nobody is asked: the school has decided. Where it has not, the way ends here. */
async function grantOfSchool(db: Db, ctx: KoaContextWithOIDC) {
  const { client, session, params, provider } = ctx.oidc;
  const account = session?.accountId;
  if (!client || !account) return undefined;
  if (!(await isWelcome(db, client.clientId, estabOf(account)))) {
    const { errors } = await import('oidc-provider');
    throw new errors.AccessDenied('the school does not authorise this application to have its people sign in');
  }
  const grant = new provider.Grant({ clientId: client.clientId, accountId: account });
  grant.addOIDCScope(String(params?.scope ?? 'openid'));
  await grant.save();
  return grant;
}
