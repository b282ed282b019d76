// In charge of what somebody fills in for an operation: a value for each of its parameters, and a body.
import { SchoolbellError } from '../../../errors.ts';
import type { Form } from '../../../http/forms.ts';
import type { Parameter } from '../../../reference/document.ts';
import type { Value } from '../../../reference/quote.ts';
import type { SampleValues } from '../../../reference/sample-request.ts';
import type { Operation } from './operations.ts';

export const fieldName = ({ in: place, name }: Pick<Parameter, 'in' | 'name'>) => `${place}-${name}`;
export const bodyField = 'body';

export type Filled = Readonly<{ path: Record<string, string>; query: Record<string, string>; headers: Record<string, string>; body: Value | undefined }>;

/** estab: of the token, for an operation that has it in its path. What is left empty is not sent. */
export function readValues({ parameters, takesBody }: Operation, form: Form, estab: string | undefined): Filled {
  const of = (place: Parameter['in']) =>
    Object.fromEntries(parameters.filter((one) => one.in === place).map((one) => [one.name, form.one(fieldName(one))] as const));
  const given = (values: Record<string, string>) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
  const path = of('path');
  if (estab !== undefined && path.estab === '') path.estab = estab;
  for (const [name, value] of Object.entries(path)) requirePart(name, value);
  const headers = given(of('header'));
  for (const [name, value] of Object.entries(headers))
    if (!/^[\x20-\x7e]*$/.test(value)) throw new SchoolbellError('invalid_request', `${name}: a header takes printable ASCII characters alone.`);
  return { path, query: given(of('query')), headers, body: takesBody ? parseBody(form.one(bodyField)) : undefined };
}

/** Whatever it is, it stays within its place: what an address is made simpler by would lead elsewhere. */
function requirePart(name: string, value: string): void {
  if (value === '') throw new SchoolbellError('invalid_request', `${name}: fill it in, it is a part of the address.`);
  if (value === '.' || value === '..') throw new SchoolbellError('invalid_request', `${name}: "${value}" would lead to another address.`);
}

function parseBody(text: string): Value | undefined {
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as Value;
  } catch (error) {
    throw new SchoolbellError('invalid_request', `Body: this is no JSON. ${(error as Error).message}`);
  }
}

export function toSample({ path, query, headers, body }: Filled, credential: NonNullable<SampleValues['credential']>): SampleValues {
  return { path, query, headers, credential, ...(body === undefined ? {} : { body }) };
}
