// In charge of answers that were worked out lately: what is asked again and again, such as where the same few receivers are, is found out once.

/** `find` says the same whenever it is asked; what it throws is not kept. Of more than `most` questions all are forgotten. */
export function lately<T>(find: (asked: string) => T, most: number): (asked: string) => T {
  const found = new Map<string, T>();
  return (asked) => {
    const known = found.get(asked);
    if (known !== undefined) return known;
    const answer = find(asked);
    if (found.size >= most) found.clear();
    found.set(asked, answer);
    return answer;
  };
}
