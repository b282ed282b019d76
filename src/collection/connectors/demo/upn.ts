// In charge of Unique Pupil Numbers: a check letter followed by local authority, establishment,
// year of allocation and serial (a temporary number ends in a letter instead of a digit).

const letters = 'ABCDEFGHJKLMNPQRTUVWXYZ';

/** The check letter for the twelve characters that follow it: their values weighted 2 to 13, modulo 23. */
export function upnCheckLetter(body: string): string {
  let sum = 0;
  for (let index = 0; index < body.length; index += 1) {
    const character = body.charAt(index);
    const value = /[0-9]/.test(character) ? Number(character) : letters.indexOf(character);
    sum += value * (index + 2);
  }
  return letters.charAt(sum % 23);
}

/** Hands out numbers that are unique per allocating school and year. */
export function upnIssuer(): (laestab: string, year: number, temporary: boolean) => string {
  const issued = new Map<string, number>();
  return (laestab, year, temporary) => {
    const stem = laestab + String(year % 100).padStart(2, '0');
    const counter = `${stem}${temporary}`;
    const serial = (issued.get(counter) ?? 0) + 1;
    issued.set(counter, serial);
    const body = stem + (temporary ? String(serial).padStart(2, '0') + letters.charAt(serial % 23) : String(serial).padStart(3, '0'));
    return upnCheckLetter(body) + body;
  };
}
