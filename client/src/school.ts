// In charge of all that an application may do at one school, with the secret that the school gave it.
import type { Settings } from './call.ts';
import { createIdentity, type Identity } from './identity.ts';
import { rosterB, type Roster } from './rostering.ts';
import { createSchoolData, type SchoolData } from './school-data.ts';
import { createSession, schoolAccess } from './session.ts';
import { createDeliveries, createWebhooks, type Deliveries, type Webhooks } from './subscriptions.ts';
import { createWriteback, type Writeback } from './writeback.ts';

export type School = SchoolData & Writeback & { readonly estab: string; roster: Roster<'B'>; webhooks: Webhooks; deliveries: Deliveries; identity: Identity };

/** @internal */
export function createSchool(settings: Settings, credential: { rp: string; estab: string; secret: string }): School {
  const { estab } = credential;
  const session = createSession(settings, schoolAccess(credential));
  return {
    estab,
    roster: rosterB(settings, credential),
    ...createSchoolData(session, estab),
    ...createWriteback(session, estab),
    webhooks: createWebhooks(session),
    deliveries: createDeliveries(session),
    identity: createIdentity(session, estab),
  };
}
