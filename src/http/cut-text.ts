// In charge of texts of others that are kept or repeated up to a length.

/** Half of a character, where the cut goes through one, is replaced: the database takes no JSON that has it. */
export function cutText(text: string, most: number): string {
  return text.slice(0, most).toWellFormed();
}
