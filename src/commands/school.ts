// In charge of the commands on schools.
import { requireEstablishment, requireUsable } from '../access/establishments.ts';
import { countSchool } from '../collection/count-school.ts';
import { renderSentence } from '../collection/import-report.ts';
import { SchoolbellError } from '../errors.ts';
import { mailLink } from '../onboarding/ask-link.ts';
import { addSchool, changeSchool } from '../onboarding/edit-school.ts';
import { listAsked, listGrants, sayCut } from '../onboarding/grants.ts';
import { confirmSchool } from '../onboarding/invitations.ts';
import { pauseSchool, resumeSchool } from '../onboarding/pause-school.ts';
import { refuseSchool } from '../onboarding/refuse-school.ts';
import { removeSchool } from '../onboarding/remove-school.ts';
import { describeSchoolState, findSchoolState, listSchools, requireListedSchool, schoolStates, type SchoolState } from '../onboarding/school-states.ts';
import { optionalText, text, type Command } from './command.ts';
import { prepareGiven, sourceOptions } from './source.ts';
import { renderPairs, renderTable } from './table.ts';

const estab = { value: '<id>', help: 'the establishment (in England the seven-digit LAESTAB)', required: true } as const;

function pauseCommand(verb: 'pause' | 'resume', act: typeof pauseSchool, help: string): Command {
  return {
    name: `school ${verb}`,
    effect: 'changes',
    help,
    options: { estab },
    async run({ db, seal, config }, given) {
      const data = await act({ db, seal, publicUrl: config.publicUrl }, text(given, 'estab'));
      const stopped = data.stopped > 0 ? `; ${data.stopped} waiting calls were stopped` : '';
      return { data, lines: [`${verb}d at ${data.estab}: ${data.applications.join(', ')}${stopped}`] };
    },
  };
}

export const schoolCommands: readonly Command[] = [
  {
    name: 'school add',
    effect: 'changes',
    reportsMissing: true,
    help: 'Adds an establishment, or takes over one that only an application has proposed.',
    options: {
      estab,
      name: { value: '<name>', help: 'its name', required: true },
      email: { value: '<address>', help: 'its address of record', required: true },
      'time-zone': { value: '<zone>', help: 'Europe/London unless given' },
      ...sourceOptions,
    },
    async run(context, given) {
      const { db, seal } = context;
      const school = { estab: text(given, 'estab'), name: text(given, 'name'), email: text(given, 'email'), timeZone: optionalText(given, 'time-zone') };
      const [estabGiven, name, email] = [optionalText(given, 'estab'), optionalText(given, 'name'), optionalText(given, 'email')];
      const details = { estab: estabGiven, name, email, timeZone: school.timeZone };
      const { setup, found } = await prepareGiven(context, school.estab, given, () => requireUsable(details));
      const data = await addSchool({ db, seal }, school, setup);
      return {
        data: { ...data, found },
        lines: [
          `added ${data.estab} ${data.name}${data.connector ? `, connected by ${data.connector}` : ''}`,
          ...data.proposedBy.map((rp) => `${rp} had proposed this school; its invitation was not sent: invite --rp ${rp} --estab ${data.estab}`),
          ...(found ? [renderSentence(found)] : []),
        ],
      };
    },
  },
  {
    name: 'school list',
    effect: 'reads',
    help: 'Lists the establishments, each with how it stands.',
    options: { state: { value: '<state>', help: `only those in one state: ${schoolStates.join(', ')}` } },
    async run({ db }, given) {
      const data = (await listSchools(db, { state: parseState(optionalText(given, 'state')) })).schools.toSorted((a, b) => (a.estab < b.estab ? -1 : 1));
      return {
        data,
        lines: renderTable(
          data,
          [
            { title: 'Estab', of: (one) => one.estab },
            { title: 'Name', of: (one) => one.name, most: 40 },
            { title: 'Address of record', of: (one) => `${one.email}${one.confirmed ? '' : ' (not confirmed)'}` },
            { title: 'Time zone', of: (one) => one.timeZone },
            { title: 'Connector', of: (one) => one.connector ?? 'none' },
            { title: 'State', of: (one) => one.state },
            { title: 'Applications', of: (one) => one.applications, right: true },
            { title: 'Last collected', of: (one) => one.updatedAt ?? 'never' },
          ],
          'no schools yet; add one with: school add',
        ),
      };
    },
  },
  {
    name: 'school show',
    effect: 'reads',
    help: 'Shows an establishment: how it stands, which applications may read its data, and which ask to.',
    options: { estab },
    async run({ db }, given) {
      const school = await requireListedSchool(db, (await requireEstablishment(db, text(given, 'estab'))).estab);
      const [applications, asked] = [await listGrants(db, school.estab), await listAsked(db, school.estab)];
      const { name, email, confirmed, timeZone, connector, state, pupils, updatedAt } = school;
      return {
        data: { ...school, applications, asked },
        lines: [
          ...renderPairs({
            estab: school.estab,
            name,
            state: `${state}: ${describeSchoolState(state).text}`,
            'address of record': `${email}${confirmed ? '' : ' (not confirmed)'}`,
            'time zone': timeZone,
            connector: connector ?? 'none',
            pupils,
            'last collected': updatedAt ?? 'never',
          }),
          '',
          ...renderTable(
            applications,
            [
              { title: 'rp', of: (one) => one.rp },
              { title: 'State', of: (one) => (one.pausedBy === null ? one.state : `${one.state} by the ${one.pausedBy}`) },
              { title: 'Changed', of: (one) => one.since },
              { title: 'Scopes', of: (one) => one.scopes.join(',') },
            ],
            'no application may read its data',
          ),
          ...[sayCut(applications) ?? []].flat(),
          ...asked.map((one) => `${one.rp} asks: ${one.state}${one.reason === null ? '' : `, ${one.reason}`}`),
          ...[sayCut(asked) ?? []].flat(),
        ],
      };
    },
  },
  {
    name: 'school confirm',
    effect: 'changes',
    help: 'Confirms a school that only an application has proposed, and sets its registered address; the invitations that waited go out.',
    options: { estab, email: { value: '<address>', help: 'its registered address, which is never taken from the proposal', required: true } },
    async run({ db, config }, given) {
      const data = await confirmSchool(db, config.publicUrl, text(given, 'estab'), text(given, 'email'));
      const sent = config.mail ? 'sent' : 'made: e-mail is not set up, and mails shows their links';
      return { data, lines: [`${data.estab} ${data.name} is confirmed with ${data.email}; ${data.invited} invitations were ${sent}`] };
    },
  },
  {
    name: 'school refuse',
    effect: 'changes',
    help: 'Refuses a school that only applications have named: what they asked of it ends, and the school goes, unless it has more than that.',
    options: { estab },
    async run({ db }, given) {
      const data = await refuseSchool(db, text(given, 'estab'));
      return { data, lines: [`refused ${data.estab} ${data.name}, which ${data.applications.join(', ') || 'nobody any more'} asked for`] };
    },
  },
  {
    name: 'school edit',
    effect: 'changes',
    help: 'Changes what is given of an establishment. Links and sessions of an old address of record end; a new source is collected at once.',
    options: {
      estab,
      name: { value: '<name>', help: 'its name' },
      email: { value: '<address>', help: 'its address of record; open invitations are sent there again' },
      'time-zone': { value: '<zone>', help: 'in which its days begin' },
      ...sourceOptions,
    },
    async run(context, given) {
      const { db, seal, config } = context;
      const { estab: known } = await requireEstablishment(db, text(given, 'estab'));
      const change = { name: optionalText(given, 'name'), email: optionalText(given, 'email'), timeZone: optionalText(given, 'time-zone') };
      const { setup, found } = await prepareGiven(context, known, given, () => requireUsable(change));
      const data = await changeSchool({ db, seal, publicUrl: config.publicUrl }, known, change, setup);
      const pairs = renderPairs({
        estab: data.estab,
        name: data.name,
        'address of record': `${data.email}${data.confirmed ? '' : ' (not confirmed)'}`,
        'time zone': data.timeZone,
        connector: data.connector ?? 'none',
        ...(data.invited > 0 ? { 'invitations with a new link': data.invited } : {}),
      });
      return { data: { ...data, found }, lines: [...pairs, ...(found ? [renderSentence(found)] : [])] };
    },
  },
  {
    name: 'school link',
    effect: 'changes',
    help: "Mails a link to the school's pages to its address of record, as if the school had asked for it.",
    options: { estab },
    async run({ db, config }, given) {
      const { estab: known } = await requireEstablishment(db, text(given, 'estab'));
      const to = await mailLink(db, config.publicUrl, known);
      const said = config.mail ? `a link to the pages of ${known} goes to ${to}` : `e-mail is not set up, so nothing was mailed to ${to}: mails shows the link`;
      return { data: { estab: known, to }, lines: [said] };
    },
  },
  pauseCommand('pause', pauseSchool, 'Pauses every application at a school: nothing can be read, and calls that wait are stopped. Data is still collected.'),
  pauseCommand('resume', resumeSchool, 'Resumes the applications at a school that were paused; those that the school paused itself stay so.'),
  {
    name: 'school remove',
    effect: 'changes',
    help: 'Removes an establishment with its roster and authorisations, for good. That it was done stays to be seen: audit.',
    options: { estab },
    async destroys({ db }, given) {
      const found = await requireEstablishment(db, text(given, 'estab'));
      const counts = await countSchool(db, found.estab);
      return { what: `the school ${found.estab} ${found.name}`, data: { estab: found.estab, name: found.name, counts }, lines: renderPairs(counts) };
    },
    async run({ db, config }, given) {
      const { estab: gone, name, counts } = await removeSchool(db, config.dataDir, text(given, 'estab'));
      return { data: { estab: gone, removed: true, counts }, lines: [`removed ${gone} ${name}`, ...renderPairs(counts)] };
    },
  },
];

function parseState(given: string | undefined): SchoolState | undefined {
  const state = given === undefined ? undefined : findSchoolState(given);
  if (given !== undefined && !state) throw new SchoolbellError('invalid_request', `--state "${given}": must be one of ${schoolStates.join(', ')}`);
  return state;
}
