// In charge of what takes long on the command line being stopped in good order, so that nothing is left running or half made.
import { endOnSignal } from '../end-on-signal.ts';
import { SchoolbellError } from '../errors.ts';

/** left: how things stand if it was stopped. */
export async function stoppable<T>(left: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { signal, leave } = endOnSignal();
  try {
    return await work(signal);
  } catch (error) {
    throw signal.aborted ? new SchoolbellError('conflict', `stopped; ${left}`, { cause: error }) : error;
  } finally {
    leave();
  }
}
