// In charge of paths that are other ones each time they are asked for.

let number = 0;

/** `__n__` becomes a number never used before in this process, `__below:m__` a random one below m. */
export function fillPath(path: string): string {
  return path
    .replace('__n__', () => String((number += 1)))
    .replace(/__below:(\d+)__/, (_, limit: string) => String(Math.floor(Math.random() * Number(limit))));
}
