// In charge of the fields of an operation: which token and school, one for each parameter as its description explains it, and the body.
import type { Db } from '../../../db/connect.ts';
import type { Form } from '../../../http/forms.ts';
import { html, type Html } from '../../../http/html.ts';
import { renderInput, renderLines, renderSelect, type Choice } from '../../../http/pages/field.ts';
import { listApplicationSchools } from '../../../onboarding/application-schools.ts';
import { resolveReference, type Parameter } from '../../../reference/document.ts';
import { plainWords } from '../../../reference/pages/prose.ts';
import { Env } from '../../../reference/quote.ts';
import { takeExamples } from '../../../reference/sample-request.ts';
import { findExample } from '../../../reference/schema-example.ts';
import { tokenSchemes, type Operation } from './operations.ts';
import { bodyField, fieldName } from './read-values.ts';

/** rp: whose the demo's credentials are. */
export type Demo = Readonly<{ rp: string; estab: string }>;

const mostSchools = 100;
const longestValue = 2_000;
/** A list is asked for in small: more than is shown is of no use here. */
const small: Readonly<Record<string, string>> = { limit: '10', pageSize: '10' };
const open: ReadonlySet<string> = new Set(['Live', 'Installing', 'Approved']);

export function listCredentialChoices({ credentials }: Operation, demo: Demo | undefined): Choice[] {
  return [
    ...credentials.map((name) => ({ value: name, label: tokenSchemes[name].label })),
    ...(demo ? credentials.filter((name) => tokenSchemes[name].ofSchool).map((name) => ({
      value: `demo ${name}`, label: `${tokenSchemes[name].label}: the demo’s, at its own`,
    })) : []),
  ];
}

/** Undefined: there are too many, and the one that is meant is typed. */
export async function listSchoolChoices(db: Db, rp: string): Promise<Choice[] | undefined> {
  const schools = await listApplicationSchools(db, rp, { most: mostSchools + 1 });
  if (schools.length > mostSchools) return undefined;
  return schools.filter(({ state }) => open.has(state)).map(({ estab, name }) => ({ value: estab, label: `${name} (${estab})` }));
}

type Chosen = Readonly<{ credentials: readonly Choice[]; schools: readonly Choice[] | undefined }>;

/** typed: what had been filled in before. */
export function renderFields(operation: Operation, typed: Form | undefined, { credentials, schools }: Chosen): Html {
  const ofSchool = operation.credentials.some((name) => tokenSchemes[name].ofSchool);
  const { body } = takeExamples(operation);
  return html`${renderSelect({ name: 'credential', label: 'Token', value: typed?.one('credential') ?? '', choices: credentials })}
${ofSchool && renderSchool(schools, typed?.one('estab') ?? '')}
${operation.parameters.map((one) => renderParameter(operation, one, typed))}
${operation.takesBody && renderLines({
  name: bodyField, label: 'Body', hint: 'JSON.', rows: 12, value: typed?.exact(bodyField) ?? (body === undefined ? '' : JSON.stringify(body, showVariable, 2)),
})}`;
}

const showVariable = (_key: string, value: unknown) => (value instanceof Env ? `$${value.name}` : value);

function renderSchool(schools: readonly Choice[] | undefined, value: string): Html {
  const hint = 'The number of one that authorises the application.';
  if (schools === undefined) return renderInput({ name: 'estab', label: 'School', type: 'text', autocomplete: 'off', value, optional: true, hint });
  const choices = schools.length > 0 ? schools : [{ value: '', label: 'No school authorises the application' }];
  return renderSelect({ name: 'estab', label: 'School', value, choices });
}

type Explained = Readonly<{ enum?: readonly unknown[] }>;

function renderParameter({ document }: Operation, parameter: Parameter, typed: Form | undefined): Html {
  const { name, in: place, description = '', required = false, schema } = parameter;
  const { enum: values } = (schema ? resolveReference(document, schema) : {}) as Explained;
  const field = fieldName(parameter);
  const value = typed ? typed.one(field) : (place === 'query' && small[name]) || '';
  const example = findExample(document, parameter);
  const hint = `${plainWords(description)}${place === 'header' ? ' A header.' : ''}${example === undefined ? '' : ` For example ${String(example)}`}`.trim();
  if (values && values.every((one) => typeof one === 'string')) {
    const choices = [...(required ? [] : [{ value: '', label: 'Not given' }]), ...values.map((one) => ({ value: one, label: one }))];
    return renderSelect({ name: field, label: name, value, choices, ...(hint === '' ? {} : { hint }) });
  }
  const optional = place !== 'path' || name === 'estab';
  return renderInput({ name: field, label: name, type: 'text', autocomplete: 'off', value, longest: longestValue, optional, hint: hint || undefined });
}
