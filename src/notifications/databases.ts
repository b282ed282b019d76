// In charge of the component databases that can be watched, and the scopes that open each.
import type { Scope } from '../access/scopes.ts';

export const databases: Readonly<Record<string, readonly Scope[]>> = {
  SchoolData: ['School', 'Student', 'Staff', 'Contact', 'StudentDemographic'],
  Attendance: ['Attendance'],
};

export function findDatabase(name: string): string | undefined {
  return Object.keys(databases).find((one) => one.toLowerCase() === name.toLowerCase());
}
