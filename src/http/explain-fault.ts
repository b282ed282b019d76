// In charge of what to do about an outgoing call that failed, in plain words, for those who run this service.
import { describeFault, type CallFault } from './call-fault.ts';
import type { ErrorClass } from './outbound.ts';

/** what: what happened. advice: what somebody can do about it. */
export type Explained = { what: string; advice: string };

/** again: it may be well at the next try, if there is one. */
type Known = Explained & { again?: true };

const ofCall: Readonly<Record<ErrorClass, Known>> = {
  invalid_url: {
    what: 'The address is none that may be called.',
    advice: 'It has to be http or https, printable, without a user name. The application has to register another one.',
  },
  blocked_address: {
    what: 'The address is not public, so that it was not called.',
    advice: 'If the receiver is meant to be inside your network, open its range with OUTBOUND_ALLOW; otherwise the application has to register another URL.',
  },
  plain_http: {
    what: 'The event carries a secret and was not sent: the callback URL uses plain http.',
    advice: 'The application needs a callback URL that begins with https: application edit --callback-url. Then the event is sent at once.',
  },
  dns_error: {
    what: 'The name of the receiver could not be resolved.',
    advice: 'Ask the application whether the name in its URL is right and its DNS works; look whether this machine resolves other names.',
  },
  connection_refused: {
    what: 'The receiver is there, but nothing listens at that port.',
    advice: 'Ask the application whether its server runs and the port in the URL is right.',
    again: true,
  },
  connection_reset: { what: 'The receiver broke off the connection.', advice: 'Ask the application what its server or firewall says about it.', again: true },
  network_unreachable: {
    what: 'There is no way to the receiver from here.',
    advice: 'Look at the network and the firewall of this machine; IPv6 without a route is a common cause.',
  },
  connect_timeout: {
    what: 'The receiver did not take the connection within five seconds.',
    advice: 'A firewall that swallows what it does not let in is the most common cause: ask the application whether calls from here are let in.',
  },
  timeout: {
    what: 'The receiver did not answer within twenty seconds.',
    advice: 'It should answer 2xx as soon as it has stored the event, and do its work afterwards. The event may have arrived all the same.',
  },
  tls_error: {
    what: 'No secure connection: the certificate or the TLS version of the receiver was not accepted.',
    advice: 'Ask the application to renew or complete its certificate (name, date, intermediate certificates), and to offer TLS 1.2 or newer.',
  },
  protocol_error: { what: 'What the receiver answered is not HTTP.', advice: 'Ask the application whether the port is that of its web server.' },
  body_too_large: { what: 'The answer was larger than is read, before its status was known.', advice: 'A receiver needs to answer no more than a status.' },
  network_error: { what: 'The connection failed.', advice: 'Look at what the attempt says, and at the network on both sides.', again: true },
};

const ofOurs: Readonly<Record<string, Known>> = {
  callback_unconfirmed: {
    what: 'The event carries a secret and was not sent: a developer moved the callback URL to another host.',
    advice: 'Ask the application whether the new host is right, then confirm it on its page or by application edit --confirm-callback. Then the event is sent.',
  },
  redirect: {
    what: 'The receiver answered with a redirect, which is never followed.',
    advice: 'The application has to register the URL that it redirects to.',
  },
  worker_lost: {
    what: 'The worker ended before it could say what became of this attempt.',
    advice: 'Nothing has to be done: it is tried again under the same id. If it happens often, look at the log and the memory of the machine.',
  },
  handed_back: {
    what: 'The process ended while this attempt was under way, and handed it to another.',
    advice: 'Nothing has to be done: it was tried again at once, under the same id, and this attempt does not count against the schedule.',
  },
  held_by_restore: {
    what: 'It is held: it had not gone out when a backup was taken that was restored since, and may have gone out before that.',
    advice: 'Ask the application whether it has it, by its id; if it has not, or repeats do no harm, replay it.',
  },
  unexpected: { what: 'This attempt failed on our side.', advice: 'It does not count against the schedule and is tried again. The log has the reason.' },
  unstorable: { what: 'What became of this attempt could not be stored.', advice: 'It does not count against the schedule. The log has the reason.' },
  not_authorised: {
    what: 'It was not sent: the school does not authorise the application at present, or the registration is gone.',
    advice: 'Once the school has resumed or approved it, replay this delivery.',
  },
  delayed: { what: 'The sandbox sends this late.', advice: 'Nothing has to be done: it goes out by itself.' },
  out_of_order: { what: 'The sandbox sends the next one first.', advice: 'Nothing has to be done: it goes out by itself.' },
  withheld: { what: 'The sandbox withheld this call: it was never sent.', advice: 'Replay it, or have what is missing sent: replay --missing.' },
  outdated: { what: 'It was not sent: something newer was said meanwhile.', advice: 'Nothing has to be done.' },
};

const ofStatus: readonly (readonly [RegExp, string, again?: true])[] = [
  [
    /^410$/,
    'It says that it is gone for good, which disables a registration or callback URL: when the receiver is back, enable its target or send a test.',
  ],
  [/^40[13]$/, 'It refuses the call: the application should check the signature with its signing secret, and needs no other login.'],
  [/^404$/, 'The path is not known there: ask the application whether its URL is right.'],
  [/^405$/, 'It takes another method: a registration can ask for POST instead of GET.'],
  [/^413$/, 'The event is too large for it: the application has to raise the limit of its server.'],
  [/^429$/, 'It gets too many calls; a Retry-After is honoured. Wait, or pause the target for a while.'],
  [/^4/, 'It refuses this event: the answer below may say why. Ask the application, and replay it when that is mended.'],
  [/^50[234]$/, 'Its server is down or overloaded, or something before it: ask the application.', true],
  [/^5/, 'Its server failed at this event: the answer below may say why.', true],
];

/** Undefined where nothing failed. over: it is not tried again by itself. */
export function explainFault(fault: CallFault, { over }: { over: boolean }): Explained | undefined {
  const known = findKnown(fault);
  if (!known) return undefined;
  const { what, advice, again } = known;
  if (!again) return { what, advice };
  return { what, advice: `${advice} ${over ? 'Replay it then: it is not tried again by itself.' : 'Replay it then, or wait for the next try.'}` };
}

/** What happened alone, for a line of a list. */
export const nameFault = (fault: CallFault): string | undefined => findKnown(fault)?.what;

function findKnown(fault: CallFault): Known | undefined {
  const { errorClass, status } = fault;
  if (errorClass === null) return undefined;
  const known = ofCall[errorClass as ErrorClass] ?? ofOurs[errorClass];
  if (known) return known;
  const code = String(status ?? errorClass.slice('status_'.length));
  const [, advice = 'Only an answer of 2xx counts as taken.', again] = ofStatus.find(([pattern]) => pattern.test(code)) ?? [];
  const what = errorClass.startsWith('status_') ? `The receiver answered ${code}.` : (describeFault(fault) ?? errorClass);
  return { what, advice, ...(again ? { again } : {}) };
}
