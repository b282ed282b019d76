// In charge of the identity user record: the same ten strings, in the cases that the operations have.
import type { Presence } from './presences.ts';

export const userFields = ['Id', 'DisplayName', 'FirstName', 'Surname', 'LastLoggedIn', 'UserName', 'Roles', 'PresenceType', 'WorkEmail', 'Email'] as const;
type Field = (typeof userFields)[number];

export function renderUser(presence: Presence): Record<Field, string> {
  return {
    Id: presence.id,
    DisplayName: presence.displayName,
    FirstName: presence.firstName,
    Surname: presence.surname,
    LastLoggedIn: presence.lastLoggedIn?.toISOString() ?? '',
    UserName: presence.userName,
    Roles: presence.roles,
    PresenceType: presence.type,
    WorkEmail: presence.workEmail,
    Email: presence.email,
  };
}

export function renderCamelCaseUser(presence: Presence): Record<string, string> {
  return Object.fromEntries(Object.entries(renderUser(presence)).map(([name, value]) => [name.charAt(0).toLowerCase() + name.slice(1), value]));
}
