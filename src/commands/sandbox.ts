// In charge of the commands of the sandbox: a row for each thing that it can do, what is in force, and an application to rehearse with.
import { isDemoSchool } from '../collection/steer-demo.ts';
import { SchoolbellError } from '../errors.ts';
import { controls, type Control } from '../sandbox/controls.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { requireCallbackUrl } from '../notifications/inbox/require-target.ts';
import { makeDemoApplication } from '../sandbox/demo-application.ts';
import { parseValues, type Field } from '../sandbox/field.ts';
import { renderStanding } from '../sandbox/routes.ts';
import { describeStanding, readStanding, type Whom } from '../sandbox/standing.ts';
import { requireSandbox, requireWhom, useControl } from '../sandbox/steer.ts';
import { optionalText, text, type Command, type Context, type Given, type Option, type Outcome } from './command.ts';
import { shownOnce } from './secrets.ts';
import { renderPairs, renderTime } from './table.ts';

const usualRp = 'demo.example';
const whomOptions = {
  rp: { value: '<id>', help: `an application of the demo; ${usualRp} unless given` },
  estab: { value: '<id>', help: 'one demo school, in place of those that authorise the application' },
} as const;

export const sandboxCommands: readonly Command[] = [
  {
    name: 'sandbox show',
    effect: 'reads',
    help: 'Shows what the sandbox does now to an application of the demo and its demo schools.',
    options: whomOptions,
    run: async (context, given) => show(context, await findWhom(context, given)),
  },
  ...controls.map(describeCommand),
  {
    name: 'sandbox application',
    effect: 'changes',
    help: 'Makes an application to rehearse with, which the demo school authorises for everything, and prints its secrets.',
    options: {
      name: { value: '<name>', help: 'its name', required: true },
      rp: { value: '<id>', help: 'its id; made of the name unless given' },
      'callback-url': { value: '<url>', help: 'where authentication events go' },
      estab: { value: '<id>', help: 'the demo school; 9990001 unless given' },
    },
    async run({ db, seal, config }, given) {
      requireSandbox(config);
      const [rp, callbackUrl] = [optionalText(given, 'rp'), optionalText(given, 'callback-url')];
      const { publicUrl, outboundAllow } = config;
      if (callbackUrl !== undefined) await requireCallbackUrl(db, { publicUrl, allowed: parseAllowList(outboundAllow) }, callbackUrl, rp ?? '');
      const data = await makeDemoApplication(db, seal, {
        name: text(given, 'name'),
        rp,
        callbackUrl,
        estab: optionalText(given, 'estab'),
      });
      return { data, lines: [...renderPairs(data), shownOnce] };
    },
  },
];

function describeCommand(control: Control): Command {
  const { name, help, fields } = control;
  const first = fields.find((field) => field.first);
  return {
    name: `sandbox ${name}`,
    effect: 'changes',
    help,
    ...(first ? { positional: { name: `<${first.name}>`, help: helpOf(first) } } : {}),
    options: { ...Object.fromEntries(fields.filter((field) => !field.first).map((field) => [field.name, describeOption(field)])), ...whomOptions },
    async run(context, given) {
      const whom = await findWhom(context, given);
      if (given.positionals.length > 1)
        throw new SchoolbellError('invalid_request', `"${given.positionals.join(' ')}": give one ${first?.name ?? ''} at a time`);
      const valueOf = (field: Field) => (field.first ? given.positionals[0] : given.options[field.name]);
      const values = parseValues(control, valueOf, (field) => (field.first ? `<${field.name}>` : `--${field.name}`));
      await useControl(context.db, control, whom, values, Date.now());
      return show(context, whom);
    },
  };
}

function helpOf(field: Field): string {
  const words = field.type === 'choice' ? `${field.help}: ${field.choices.join(', ')}` : field.help;
  return field.typed === undefined ? words : `${words} ${field.typed}`;
}

function describeOption(field: Field): Option {
  const value = field.type === 'switch' ? undefined : field.type === 'whole' ? '<n>' : '<text>';
  return { value, help: helpOf(field), ...(field.required ? { required: true } : {}) };
}

async function findWhom({ db, config }: Context, given: Given): Promise<Whom> {
  requireSandbox(config);
  const whom = await requireWhom(db, optionalText(given, 'rp') ?? usualRp);
  const estab = optionalText(given, 'estab');
  if (estab !== undefined && !(await isDemoSchool(db, estab))) throw new SchoolbellError('invalid_request', `--estab "${estab}": is no demo school`);
  return estab === undefined ? whom : { ...whom, estabs: [estab] };
}

async function show({ db }: Context, whom: Whom): Promise<Outcome> {
  const standing = await readStanding(db, whom, Date.now());
  return { data: renderStanding(standing), lines: renderPairs({ application: standing.rp, ...describeStanding(standing, renderTime) }) };
}
