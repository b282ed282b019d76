// In charge of texts of others on a terminal or a page: nothing in them can steer it, or look as if it stood elsewhere.

/** Control characters, and those that break lines or turn the direction of writing. */
const steering = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

export function printable(text: string, instead: string): string {
  return text.replaceAll(steering, instead);
}

/** For a page: each such character by its number, but for the ends of lines, so that whoever looks for it finds it. */
export function showSteering(text: string): string {
  return text.replaceAll(steering, (found) =>
    [...found].map((one) => (/[\t\n]/.test(one) ? one : one === '\r' ? '' : `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)).join(''));
}
