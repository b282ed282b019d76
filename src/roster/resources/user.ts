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
  about: 'A person: a student, a member of staff or a contact of a student.',
  table: 'roster_user',
  file: 'users.csv',
  header:
    'sourcedId,status,dateLastModified,enabledUser,orgSourcedIds,role,username,userIds,givenName,familyName,middleName,identifier,email,sms,phone,' +
    'agentSourcedIds,grades,password',
  kinds: ['student', 'teacher', 'staff', 'contact'],
  kindBy: { field: 'role', kindOf: (role) => kindOfRole[role] ?? 'contact' },
  fields: [
    { name: 'username', type: 'text', column: 'username', csv: 'username', required: true, about: 'The name that the person signs in with at the school.' },
    { name: 'userIds', type: 'userIds', column: 'user_ids', csv: 'userIds', about: 'Identifiers of the person in other systems, each with its kind.' },
    { name: 'enabledUser', type: 'boolean', column: 'enabled_user', csv: 'enabledUser', required: true, about: 'Whether the account is in use.' },
    { name: 'givenName', type: 'text', column: 'given_name', csv: 'givenName', required: true, about: 'First name.' },
    { name: 'familyName', type: 'text', column: 'family_name', csv: 'familyName', required: true, about: 'Last name.' },
    { name: 'middleName', type: 'text', column: 'middle_name', csv: 'middleName', about: 'Middle names.' },
    { name: 'role', type: 'enum', column: 'role', csv: 'role', required: true, values: roles, about: 'What the person is at the school.' },
    { name: 'identifier', type: 'text', column: 'identifier', csv: 'identifier', about: 'The number that the person has at the school.' },
    { name: 'email', type: 'text', column: 'email', csv: 'email', about: 'E-mail address.' },
    { name: 'sms', type: 'text', column: 'sms', csv: 'sms', about: 'Mobile number for messages.' },
    { name: 'phone', type: 'text', column: 'phone', csv: 'phone', about: 'Phone number.' },
    { name: 'orgs', type: 'refs', column: 'org_ids', csv: 'orgSourcedIds', to: 'orgs', required: true, about: 'The organisations that the person belongs to.' },
    { name: 'orgSourcedIds', type: 'idList', column: 'org_ids', about: 'The same organisations, as ids alone.' },
    { name: 'grades', type: 'list', column: 'grades', csv: 'grades', about: 'The year groups of a student.' },
    {
      name: 'agents', type: 'refs', column: 'agent_ids', csv: 'agentSourcedIds', to: 'users', late: true,
      about: 'Of a student the parents and guardians, of a contact the children; only those whom the caller may see.',
    },
  ],
};
