// In charge of texts of others on a terminal: nothing in them can steer it.

/** Control characters, and those that break lines or turn the direction of writing. */
const steering = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

export function printable(text: string, instead: string): string {
  return text.replaceAll(steering, instead);
}
