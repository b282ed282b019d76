// In charge of which school somebody means: by its number, by its name, or by the beginning of a name that no other has.
// It is one statement whatever was typed, so that the time it takes says nothing about which schools are known.
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
  const [first, second] = await sql<{ estab: string; rank: number }[]>`
    with typed as (select regexp_replace(lower(${given}), '[^[:alnum:]]+', '', 'g') as letters)
    select s.estab, case when s.estab = ${number} then 1 when s.letters = typed.letters then 2 else 3 end as rank
    from typed, (select e.estab, e.confirmed_at, regexp_replace(lower(e.name), '[^[:alnum:]]+', '', 'g') as letters from establishment e) s
    where s.estab = ${number} or (s.confirmed_at is not null and length(typed.letters) >= ${leastLetters}::int and starts_with(s.letters, typed.letters))
    order by rank limit 2`;
  return first && (first.rank === 1 || first.rank !== second?.rank) ? first.estab : undefined;
}
