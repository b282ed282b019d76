// In charge of the worker of a process: which kind of work is whose, the chores beside it, and a clean end.
import type { FastifyBaseLogger } from 'fastify';
import { createIsDemo } from './access/demo-faults.ts';
import type { Seal } from './access/seal.ts';
import { createCollecting } from './collection/collect.ts';
import { collectKind, statusChannel } from './collection/component-databases.ts';
import type { ConnectorParts } from './collection/connector-settings.ts';
import { pageLimits } from './collection/connectors/oneroster/oneroster-connector.ts';
import type { Config } from './config.ts';
import type { Db } from './db/connect.ts';
import type { OpenPool } from './db/open.ts';
import { policies, workPools } from './db/policies.ts';
import type { WorkKind } from './durable-work.ts';
import { startHousekeeping } from './housekeeping.ts';
import { parseAllowList } from './http/address-guard.ts';
import { createOutbound, type Outbound } from './http/outbound.ts';
import { createPasswordLinkSending, forgottenKind } from './identity/forgotten-password.ts';
import { createMailing, mailKind } from './mail/mail.ts';
import { createDelivery } from './notifications/deliver.ts';
import { createEventFaults } from './notifications/event-faults.ts';
import { createHandOver } from './notifications/inbox/hand-over.ts';
import { callKind } from './notifications/webhooks.ts';
import { createLinkSending, linkKind } from './onboarding/ask-link.ts';
import { completeInstallations } from './onboarding/installation.ts';
import { tellingOf, tellTroubles } from './onboarding/tell-troubles.ts';
import { createOperatorLinkSending, operatorLinkKind } from './operators/forgotten-password.ts';
import { afterCommit, createCommitWait } from './outbox/after-commit.ts';
import { startWorker, type Handler } from './outbox/worker.ts';
import { attemptAll } from './roster/go-through.ts';
import { sweepWaits } from './schooldata/availability.ts';
import { writebackKind } from './schooldata/submit-marks.ts';
import { createWriteback } from './schooldata/write-back.ts';
import { version } from './version.ts';

/** The pools of a worker; what each is for stands beside its limits in `db/policies`. */
export type WorkPools = Readonly<Record<(typeof workPools)[number], Db>>;

export function createWorkPools(open: OpenPool): WorkPools {
  return Object.fromEntries(workPools.map((name) => [name, open(policies[name])])) as WorkPools;
}

export type WorkParts = {
  pools: WorkPools;
  seal: Seal;
  config: Config;
  log: Pick<FastifyBaseLogger, 'warn' | 'info' | 'error'>;
  now?: () => number;
  /** How long the end waits for what is under way. */
  longestEndMs?: number;
};

/** Gives what stops it, however often it is told. */
export async function startWork({ pools, seal, config, log, now = Date.now, ...limits }: WorkParts): Promise<() => Promise<void>> {
  const allowed = parseAllowList(config.outboundAllow);
  const calls = createHandOver(pools.outbox, seal, config.publicUrl, createOutbound(allowed));
  const providers = createOutbound(allowed, pageLimits);
  const mailing = createMailing(pools.outbox, config.mail);
  const waitForCommit = createCommitWait(pools.nodes);
  const worker = await startWorker({
    db: pools.outbox,
    handlers: afterCommit(waitForCommit, { ...createHandlers(pools, seal, config, { calls, providers }, now), [mailKind]: mailing }),
    log,
    ...limits,
    // A transaction whose connection is gone comes to nothing; one that is being committed holds its claim, and is waited for.
    cut: () => Promise.all([calls.close(), providers.close(), pools.collections.end({ timeout: 0 }), pools.writebacks.end({ timeout: 0 })]),
  });
  const housekeeping = startHousekeeping({ db: pools.chores, backups: pools.backups, seal, config, log, now });
  const following = new Set<Promise<void>>();
  const listening = await pools.chores.listen(statusChannel, (estab) => {
    const followed = waitForCommit(estab).then(() => onStatus(pools.chores, seal, config, estab))
      .catch((error: unknown) => log.error({ err: error }, 'a change of status could not be followed; it is looked at again'))
      .finally(() => following.delete(followed));
    following.add(followed);
  });
  const stop = async () => {
    await Promise.all([listening.unlisten(), housekeeping.stop(), worker.stop()]);
    await Promise.all(following);
    mailing.close();
    await Promise.all([calls.close(), providers.close()]);
  };
  let stopped: Promise<void> | undefined;
  return () => (stopped ??= stop());
}

/** Whoever waits for this school's data, and whoever has to know how it stands. */
async function onStatus(db: Db, seal: Seal, config: Config, estab: string): Promise<void> {
  const told = [() => sweepWaits(db, { estab }), () => completeInstallations(db, seal, estab), () => tellTroubles(db, tellingOf(config), { estab })];
  await attemptAll(told, (count) => `${count} of those who had to know how ${estab} stands were not told`);
}

/** Mails have one that is closed at the end. */
type OwnHandlers = Readonly<Record<Exclude<WorkKind, typeof mailKind> | typeof callKind, Handler>>;

function createHandlers(pools: WorkPools, seal: Seal, config: Config, outbound: { calls: Outbound; providers: Outbound }, now: () => number): OwnHandlers {
  const { dataDir, demo: sandbox } = config;
  const connectors: ConnectorParts = { db: pools.collections, mis: pools.chores, seal, outbound: outbound.providers, dataDir, sandbox, now };
  const faults = config.demo ? createEventFaults(pools.outbox, createIsDemo(pools.outbox, now)) : undefined;
  return {
    [callKind]: createDelivery(pools.outbox, seal, outbound.calls, version, { answersFrom: parseAllowList(config.answersFrom), faults }),
    [collectKind]: createCollecting(connectors, { shrinkLimitPercent: config.shrinkLimitPercent }),
    [writebackKind]: createWriteback({ ...connectors, db: pools.writebacks }),
    [linkKind]: createLinkSending(pools.chores, config.publicUrl),
    [forgottenKind]: createPasswordLinkSending(pools.chores, config.publicUrl),
    [operatorLinkKind]: createOperatorLinkSending(pools.chores, config.publicUrl),
  };
}
