// In charge of who is answered with a page: what a caller's Accept header says of text/html.

/** A browser names text/html; curl and most libraries take anything, and are programs. */
export function asksForPage(accept: string | undefined): boolean {
  return (weightOf('text/html', accept) ?? 0) > 0;
}

/** At an address that has a page and nothing else: whoever takes anything takes it too. */
export function takesPage(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  return (weightOf('text/html', accept) ?? weightOf('text/*', accept) ?? weightOf('*/*', accept) ?? 0) > 0;
}

function weightOf(wanted: string, accept = ''): number | undefined {
  for (const range of accept.toLowerCase().split(',')) {
    const [type, ...parameters] = range.split(';').map((part) => part.trim());
    if (type === wanted) return Number(parameters.find((one) => one.startsWith('q='))?.slice(2) ?? 1);
  }
  return undefined;
}
