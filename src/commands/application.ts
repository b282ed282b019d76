// In charge of the commands on applications.
import { addApplication, renderConfirmCommand, requireApplication, searchApplications, type Application } from '../access/applications.ts';
import { SchoolbellError } from '../errors.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { requireCallbackUrl } from '../notifications/inbox/require-target.ts';
import { countSchoolsByState } from '../onboarding/application-schools.ts';
import { editApplication } from '../onboarding/edit-application.ts';
import { countApplication, removeApplication } from '../onboarding/remove-application.ts';
import { optionalText, text, type Command, type Context, type Given } from './command.ts';
import { shownOnce } from './secrets.ts';
import { renderPairs, renderTable } from './table.ts';

const rp = { value: '<id>', help: 'the application (relying party)', required: true } as const;
const options = {
  name: { value: '<name>', help: 'its name, as schools will read it' },
  'callback-url': { value: '<url>', help: 'where authentication events go' },
  scopes: { value: '<list>', help: 'what it asks for, for example School,Student,Staff:optional' },
  'redirect-uri': { value: '<url>', help: 'where sign-ins may return to; may be repeated', many: true },
  website: { value: '<url>', help: 'what schools read about it' },
  'privacy-notice': { value: '<url>', help: 'its privacy notice, for schools' },
  contact: { value: '<address>', help: 'whom schools write to, and who is told when calls fail' },
  'state-events': { value: '<on|off>', help: 'whether it is told of pausing, resuming, narrowing, declining and revoking' },
} as const;
const changeable = [...Object.keys(options), 'confirm-callback'];
const placeOf = ({ publicUrl, outboundAllow }: Context['config']) => ({ publicUrl, allowed: parseAllowList(outboundAllow) });
const deciding = ({ db, seal, config }: Context) => ({ db, seal, ...placeOf(config) });
const operator = { name: 'operator', isDeveloper: false } as const;

export const applicationCommands: readonly Command[] = [
  {
    name: 'application add',
    effect: 'changes',
    help: 'Adds an application and prints its secrets.',
    options: {
      rp,
      ...options,
      name: { ...options.name, required: true },
      'callback-url': { ...options['callback-url'], required: true },
      scopes: { ...options.scopes, required: true },
    },
    async run({ db, seal, config }, given) {
      await requireCallbackUrl(db, placeOf(config), text(given, 'callback-url'), text(given, 'rp'));
      const data = await addApplication(db, seal, {
        ...parseProfile(given),
        rp: text(given, 'rp'),
        name: text(given, 'name'),
        callbackUrl: text(given, 'callback-url'),
        scopes: text(given, 'scopes'),
        redirectUris: parseRedirectUris(given) ?? [],
      });
      return { data, lines: [...renderPairs(data), shownOnce] };
    },
  },
  {
    name: 'application list',
    effect: 'reads',
    help: 'Lists the applications.',
    options: { words: { value: '<text>', help: 'those whose name or id has this' } },
    async run({ db }, given) {
      const all = await searchApplications(db, { words: optionalText(given, 'words') });
      const schoolsOf = await countSchoolsByState(db, all.map((one) => one.rp));
      const data = all.map((one) => {
        const { live, waiting, paused } = schoolsOf(one.rp);
        return { ...one, schools: live + waiting + paused };
      });
      return {
        data,
        lines: renderTable(
          data,
          [
            { title: 'rp', of: (one) => one.rp },
            { title: 'Name', of: (one) => one.name, most: 30 },
            { title: 'Schools', of: (one) => one.schools, right: true },
            { title: 'Client id', of: (one) => one.clientId },
            { title: 'Scopes', of: (one) => renderScopes(one) },
            { title: 'Callback URL', of: (one) => one.callbackUrl },
          ],
          'no applications yet; add one with: application add',
        ),
      };
    },
  },
  {
    name: 'application edit',
    effect: 'changes',
    help: 'Changes what is given of an application; an empty text takes a redirect URI, website, privacy notice or contact away.',
    options: {
      rp,
      ...options,
      'confirm-callback': {
        value: undefined,
        help: 'confirm the callback URL that a developer moved, so that events with secrets go out; with --callback-url, only if it is that URL',
      },
    },
    async run(context, given) {
      const confirms = given.options['confirm-callback'] === true;
      const change = {
        ...parseProfile(given),
        name: optionalText(given, 'name'),
        ...(confirms ? { confirmCallback: await requireSeenUrl(context, given) } : { callbackUrl: optionalText(given, 'callback-url') }),
        scopes: optionalText(given, 'scopes'),
        ...(given.options['redirect-uri'] === undefined ? {} : { redirectUris: parseRedirectUris(given) ?? [] }),
      };
      if (Object.values(change).every((value) => value === undefined))
        throw new SchoolbellError('invalid_request', `nothing is to be changed: give one of ${changeable.map((name) => `--${name}`).join(', ')}`);
      const { application, narrowed, moved } = await editApplication(deciding(context), text(given, 'rp'), change, operator);
      return {
        data: { ...application, narrowed, moved },
        lines: [
          ...describeApplication(application),
          ...(confirms ? [`confirmed the callback URL ${application.callbackUrl}`] : []),
          ...(moved > 0 ? [`${moved} calls that had not arrived go to the new callback URL`] : []),
          ...(narrowed.length > 0 ? [`${narrowed.length} schools grant no longer what it does not ask for: ${narrowed.join(', ')}`] : []),
        ],
      };
    },
  },
  {
    name: 'application remove',
    effect: 'changes',
    help: 'Removes an application with its secrets, authorisations, registrations and waiting calls, for good; the schools are told.',
    options: { rp },
    async destroys({ db }, given) {
      const { rp: known, name } = await requireApplication(db, text(given, 'rp'));
      const counts = await countApplication(db, known);
      return { what: `the application ${known} ${name}`, data: { rp: known, name, counts }, lines: renderPairs(counts) };
    },
    async run(context, given) {
      const { rp: known, name } = await requireApplication(context.db, text(given, 'rp'));
      const counts = await removeApplication(deciding(context), known);
      return { data: { rp: known, removed: true, counts }, lines: [`removed ${known} ${name}`, ...renderPairs(counts)] };
    },
  },
];

/** Returns the callback URL that the operator confirms: the one that was named or, on a terminal, the one that is shown now. */
async function requireSeenUrl({ db, ask }: Context, given: Given): Promise<string> {
  const { rp: known, name, callbackUrl, confirmedCallbackHost } = await requireApplication(db, text(given, 'rp'));
  const named = optionalText(given, 'callback-url');
  if (named !== undefined && named !== callbackUrl)
    throw new SchoolbellError(
      'conflict',
      `The callback URL of ${known} is ${callbackUrl} now. Nothing was changed. To confirm this URL, name it; to change it, leave --confirm-callback ` +
        'out: a change by the operator needs no confirmation.',
    );
  if (named !== undefined || !ask) return callbackUrl;
  const before = confirmedCallbackHost === null ? [] : [`The confirmed host is ${confirmedCallbackHost}.`];
  const answer = await ask([`The callback URL of ${known} ${name} is ${callbackUrl}.`, ...before, 'Type yes to confirm it: '].join('\n'));
  if (answer.trim().toLowerCase() !== 'yes') throw new SchoolbellError('conflict', 'nothing was changed');
  return callbackUrl;
}

function parseProfile(given: Given) {
  const events = optionalText(given, 'state-events');
  if (events !== undefined && events !== 'on' && events !== 'off')
    throw new SchoolbellError('invalid_request', `--state-events "${events}": must be on or off`);
  return {
    website: optionalText(given, 'website'),
    privacyNotice: optionalText(given, 'privacy-notice'),
    contact: optionalText(given, 'contact'),
    stateEvents: events === undefined ? undefined : events === 'on',
  };
}

function parseRedirectUris(given: Given): string[] | undefined {
  return (given.options['redirect-uri'] as string[] | undefined)?.filter((uri) => uri !== '');
}

function renderScopes({ requiredScopes, optionalScopes }: Application): string {
  return [...requiredScopes, ...optionalScopes.map((scope) => `${scope}:optional`)].join(',');
}

function describeCallback(application: Application): Record<string, string> {
  const { callbackChange, confirmedCallbackHost } = application;
  return {
    ...(callbackChange ? { 'callback URL changed': `${callbackChange.at} by ${callbackChange.by}, before: ${callbackChange.from}` } : {}),
    ...(confirmedCallbackHost !== null
      ? { 'to confirm': `the host before was ${confirmedCallbackHost}; events with secrets wait: ${renderConfirmCommand(application)}` }
      : {}),
  };
}

export function describeApplication(one: Application): string[] {
  return renderPairs({
    rp: one.rp,
    name: one.name,
    'client id': one.clientId,
    'callback URL': one.callbackUrl,
    ...describeCallback(one),
    scopes: renderScopes(one),
    'redirect URIs': one.redirectUris.join(' ') || 'none',
    website: one.website ?? 'none',
    'privacy notice': one.privacyNotice ?? 'none',
    contact: one.contact ?? 'none',
    'state events': one.stateEvents ? 'on' : 'off',
    added: one.created,
  });
}
