// In charge of samples: one request as a program in each of three languages, which runs as it stands once its variables are set.
import { renderCurl } from './sample-curl.ts';
import { renderPython } from './sample-python.ts';
import { planRequest, type Located, type SampleValues } from './sample-request.ts';
import { renderTypescript } from './sample-typescript.ts';

export type Samples = Readonly<Record<'curl' | 'typescript' | 'python', string>>;

export function renderSamples(operation: Located, values: SampleValues): Samples {
  const request = planRequest(operation, values);
  return { curl: renderCurl(request), typescript: renderTypescript(request), python: renderPython(request) };
}
