// In charge of what a user is: a pupil, a member of staff or a contact. The CSV's password column is read past:
// a password that is not stored cannot leave.
import { roles, type Resource } from '../resource.ts';

const kindOfRole: Record<string, string> = {
  student: 'student',
  teacher: 'teacher',
  administrator: 'staff',
  aide: 'staff',
  proctor: 'staff',
  guardian: 'contact',
  parent: 'contact',
  relative: 'contact',
};

export const user: Resource = {
  collection: 'users',
  one: 'user',
  refType: 'user',
  table: 'roster_user',
  file: 'users.csv',
  header:
    'sourcedId,status,dateLastModified,enabledUser,orgSourcedIds,role,username,userIds,givenName,familyName,middleName,identifier,email,sms,phone,' +
    'agentSourcedIds,grades,password',
  kinds: ['student', 'teacher', 'staff', 'contact'],
  kindBy: { field: 'role', kindOf: (role) => kindOfRole[role] ?? 'contact' },
  fields: [
    { name: 'username', type: 'text', column: 'username', csv: 'username', required: true },
    { name: 'userIds', type: 'userIds', column: 'user_ids', csv: 'userIds' },
    { name: 'enabledUser', type: 'boolean', column: 'enabled_user', csv: 'enabledUser', required: true },
    { name: 'givenName', type: 'text', column: 'given_name', csv: 'givenName', required: true },
    { name: 'familyName', type: 'text', column: 'family_name', csv: 'familyName', required: true },
    { name: 'middleName', type: 'text', column: 'middle_name', csv: 'middleName' },
    { name: 'role', type: 'enum', column: 'role', csv: 'role', required: true, values: roles },
    { name: 'identifier', type: 'text', column: 'identifier', csv: 'identifier' },
    { name: 'email', type: 'text', column: 'email', csv: 'email' },
    { name: 'sms', type: 'text', column: 'sms', csv: 'sms' },
    { name: 'phone', type: 'text', column: 'phone', csv: 'phone' },
    { name: 'orgs', type: 'refs', column: 'org_ids', csv: 'orgSourcedIds', to: 'orgs', required: true },
    { name: 'orgSourcedIds', type: 'idList', column: 'org_ids' },
    { name: 'grades', type: 'list', column: 'grades', csv: 'grades' },
    { name: 'agents', type: 'refs', column: 'agent_ids', csv: 'agentSourcedIds', to: 'users', late: true },
  ],
};
