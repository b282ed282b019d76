// In charge of where a staged row stood, in one number. A person may be changed by a row of roles.csv or userProfiles.csv alone: their
// lines are told from those of users.csv, and from one another, by being negative, and even or odd.
import type { Fragment, Sql } from '../db/connect.ts';
import { profilesFile } from '../roster/resources/user-profile.ts';
import { rolesFile } from '../roster/resources/user-role.ts';

export type Place = Readonly<{ file: string; line: number }>;

/** Of a row in one of the files beside users.csv. */
export const numberOfPlace = ({ file, line }: Place): number => -(2 * line + (file === rolesFile.name ? 0 : 1));

/** file: that of the collection. */
export function placeOf(number: number, file: string): Place {
  if (number >= 0) return { file, line: number };
  return { file: number % 2 === 0 ? rolesFile.name : profilesFile.name, line: Math.floor(-number / 2) };
}

/** The same in SQL, of a column. */
export function placeInSql(sql: Sql, number: Fragment, file: string): { file: Fragment; line: Fragment } {
  return {
    file: sql`case when ${number} >= 0 then ${file} when ${number} % 2 = 0 then ${rolesFile.name} else ${profilesFile.name} end`,
    line: sql`case when ${number} >= 0 then ${number} else -${number} / 2 end`,
  };
}
