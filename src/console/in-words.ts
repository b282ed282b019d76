// In charge of refusals that speak of the options of a command: on a page they speak of its fields.
import { SchoolbellError } from '../errors.ts';

/** labels: what the field is called that stands for an option; one that is not among them is shown as the command has it. */
export async function inWords<T>(labels: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SchoolbellError)) throw error;
    const nameOf = (whole: string, option: string) => (Object.hasOwn(labels, option) ? (labels[option] ?? whole) : whole);
    const named = error.message.replaceAll(/(?<=^|; )--([a-z-]+)/g, nameOf);
    const words = named.charAt(0).toUpperCase() + named.slice(1);
    if (words === error.message) throw error;
    throw new SchoolbellError(error.code, words, { headers: { ...error.headers }, cause: error });
  }
}
