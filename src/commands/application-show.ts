// In charge of the commands that show one application: what it is, how old its secrets are, its schools, its requests.
import { requireApplication } from '../access/applications.ts';
import { listApplicationSecrets } from '../access/credentials.ts';
import { listRequests, type RequestOutcome } from '../access/requests.ts';
import { SchoolbellError } from '../errors.ts';
import { countTroubles, describeCallbackTarget } from '../notifications/target-health.ts';
import { stateOf } from '../notifications/targets.ts';
import { applicationSchoolStates, countSchoolsByState, listApplicationSchools, type ApplicationSchool } from '../onboarding/application-schools.ts';
import { describeApplication } from './application.ts';
import { optionalText, text, type Command } from './command.ts';
import { renderPairs, renderTable } from './table.ts';

const rp = { value: '<id>', help: 'the application (relying party)', required: true } as const;
const atOnce = 500;
const outcomes: readonly RequestOutcome[] = ['fine', 'refused', 'failed'];

export const applicationShowCommands: readonly Command[] = [
  {
    name: 'application show',
    effect: 'reads',
    help: 'Shows an application: what is said about it, its schools by state, how old its secrets are, and how calls to it fare.',
    options: { rp },
    async run({ db }, given) {
      const application = await requireApplication(db, text(given, 'rp'));
      const schools = (await countSchoolsByState(db, [application.rp]))(application.rp);
      const troubles = (await countTroubles(db, [application.rp]))(application.rp);
      const callback = await describeCallbackTarget(db, application.rp);
      const secrets = await listApplicationSecrets(db, application.rp);
      return {
        data: {
          ...application,
          schools,
          targets: { ...troubles, callback: { state: stateOf(callback), ...callback } },
          secrets: secrets.map(({ kind, created, validUntil }) => ({ kind, created, validUntil })),
        },
        lines: [
          ...describeApplication(application),
          ...renderPairs({
            schools: `${schools.live} live, ${schools.waiting} not live yet, ${schools.paused} paused, ${schools.asked} asked`,
            targets: `${troubles.failing} failing, ${troubles.disabled} disabled; callback URL ${stateOf(callback)}`,
          }),
          '',
          ...renderTable(
            secrets,
            [{ title: 'Secret', of: (one) => one.kind }, { title: 'Made', of: (one) => one.created }, { title: 'Replaced, ends', of: (one) => one.validUntil }],
            'no secrets',
          ),
        ],
      };
    },
  },
  {
    name: 'application schools',
    effect: 'reads',
    help: 'Lists the schools that an application asked or that authorise it, with their states and how old the school secrets are.',
    options: {
      rp,
      words: { value: '<text>', help: 'those whose name or id has this' },
      state: { value: '<state>', help: applicationSchoolStates.join(', ') },
    },
    async run({ db }, given) {
      const application = await requireApplication(db, text(given, 'rp'));
      const asked = optionalText(given, 'state');
      const state = applicationSchoolStates.find((one) => one === asked);
      if (asked !== undefined && !state)
        throw new SchoolbellError('invalid_request', `--state "${asked}": must be one of ${applicationSchoolStates.join(', ')}`);
      const data: ApplicationSchool[] = [];
      for (let more = true; more; ) {
        const page = await listApplicationSchools(db, application.rp, { words: optionalText(given, 'words'), state, after: data.at(-1)?.estab, most: atOnce });
        data.push(...page);
        more = page.length === atOnce;
      }
      return {
        data,
        lines: renderTable(
          data,
          [
            { title: 'Estab', of: (one) => one.estab },
            { title: 'Name', of: (one) => one.name, most: 30 },
            { title: 'State', of: (one) => one.state },
            { title: 'Since', of: (one) => one.changed },
            { title: 'Secret made', of: (one) => one.secretMade },
            { title: 'Old one ends', of: (one) => one.oldSecretUntil },
            { title: 'Scopes', of: (one) => one.scopes.join(',') },
          ],
          'no schools',
        ),
      };
    },
  },
  {
    name: 'requests',
    effect: 'reads',
    help: `Lists the latest ${atOnce} requests of an application that were kept, of seven days at most.`,
    options: {
      rp,
      answer: { value: '<kind>', help: `${outcomes.join(', ')}: below 400, 4xx, 5xx` },
      before: { value: '<number>', help: 'those before this one, to go on' },
    },
    async run({ db }, given) {
      const application = await requireApplication(db, text(given, 'rp'));
      const [asked, before] = [optionalText(given, 'answer'), optionalText(given, 'before')];
      const status = outcomes.find((one) => one === asked);
      if (asked !== undefined && !status) throw new SchoolbellError('invalid_request', `--answer "${asked}": must be one of ${outcomes.join(', ')}`);
      if (before !== undefined && !/^\d{1,18}$/.test(before)) throw new SchoolbellError('invalid_request', `--before "${before}": not a number of a request`);
      const data = await listRequests(db, { rp: application.rp, before, most: atOnce, status });
      return {
        data,
        lines: renderTable(
          data,
          [
            { title: 'Number', of: (one) => one.number },
            { title: 'At', of: (one) => one.at },
            { title: 'Estab', of: (one) => one.estab },
            { title: 'Status', of: (one) => one.status, right: true },
            { title: 'ms', of: (one) => Math.round(one.ms), right: true },
            { title: 'Records', of: (one) => one.records, right: true },
            { title: 'Request id', of: (one) => one.requestId },
            { title: 'Request', of: (one) => `${one.method} ${one.path}` },
          ],
          'no requests in the last days',
        ),
      };
    },
  },
];
