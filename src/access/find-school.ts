// In charge of which school somebody means: by its number, by its name, or by the beginning of a name that no other has.
// It is one statement whatever was typed, by indexes, so that the time it takes says nothing about which schools are known.
import type { Sql } from '../db/connect.ts';

const longestTyped = 300;
/** Fewer letters are no beginning of a name. */
const leastLetters = 4;

/** As a form shows a school that it remembers: what stands in brackets at the end is the number. */
export const writeSchool = ({ estab, name }: { estab: string; name: string }) => `${name} (${estab})`;

/** Letters and digits count, in any case. What only an application has named is known by its number alone. */
export async function findEstab(sql: Sql, typed: string): Promise<string | undefined> {
  const given = typed.trim().slice(0, longestTyped);
  const number = /\(([A-Za-z0-9._-]{1,32})\)$/.exec(given)?.[1] ?? given;
  const letters = sql`regexp_replace(lower(e.name), '[^[:alnum:]]+', '', 'g')`;
  const typedLetters = sql`regexp_replace(lower(${given}::text), '[^[:alnum:]]+', '', 'g')`;
  // As the index has it, and in its order. Of each way two are enough: then it is not clear which is meant.
  const named = sql`e.confirmed_at is not null and length(${typedLetters}) >= ${leastLetters}::int`;
  const [first, second] = await sql<{ estab: string; rank: number }[]>`
    select e.estab, 1 as rank from establishment e where e.estab = ${number}
    union all (select e.estab, 2 from establishment e where ${named} and ${letters} = ${typedLetters} limit 2)
    union all (select e.estab, 3 from establishment e where ${named} and starts_with(${letters}, ${typedLetters})
      order by ${letters} using ~<~ limit 2)
    order by rank limit 2`;
  return first && (first.rank === 1 || first.rank !== second?.rank) ? first.estab : undefined;
}
