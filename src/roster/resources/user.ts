// In charge of what a user is: a pupil, a member of staff or a contact. The CSV's password column is read past:
// a password that is not stored cannot leave.
import { roles, type Field, type Item, type Resource, type Value } from '../resource.ts';
import { userProfiles } from './user-profile.ts';
import { kindOfRole, userRoles } from './user-role.ts';

const columns12 =
  'sourcedId,status,dateLastModified,enabledUser,username,userIds,givenName,familyName,middleName,identifier,email,sms,phone,' +
  'agentSourcedIds,grades,password,userMasterIdentifier';

const preferred = (name: string, column: string, csv: string, about: string): Field => ({ name, type: 'text', column, csv, only: 'v1p2', about });

/** Whoever belongs to one alone mainly belongs to that one. */
function onlyOrg(valueOf: (name: string) => Value): Value {
  const [first, ...others] = (valueOf('roles') === undefined ? (valueOf('orgs') ?? []) : []) as readonly string[];
  return others.length === 0 ? first : undefined;
}

export const user: Resource = {
  collection: 'users',
  one: 'user',
  refType: 'user',
  about: 'A person: a student, a member of staff or a contact of a student.',
  table: 'roster_user',
  file: 'users.csv',
  headers: {
    v1p1: [
      'sourcedId,status,dateLastModified,enabledUser,orgSourcedIds,role,username,userIds,givenName,familyName,middleName,identifier,email,sms,phone,' +
        'agentSourcedIds,grades,password',
    ],
    v1p2: [
      `${columns12},preferredGivenName,preferredMiddleName,preferredFamilyName,primaryOrgSourcedId,pronouns`,
      `${columns12},resourceSourcedIds,preferredGivenName,preferredMiddleName,preferredFamilyName,primaryOrgSourcedId,pronouns`,
    ],
  },
  kinds: ['student', 'teacher', 'staff', 'contact'],
  kindBy: { field: 'role', kindOf: kindOfRole },
  kindsBy: { field: 'roles', kindOf: ({ role }: Item) => kindOfRole(String(role)) },
  fields: [
    { name: 'username', type: 'text', column: 'username', csv: 'username', required: 'v1p1', about: 'The name that the person signs in with at the school.' },
    { name: 'userIds', type: 'userIds', column: 'user_ids', csv: 'userIds', about: 'Identifiers of the person in other systems, each with its kind.' },
    { name: 'enabledUser', type: 'boolean', column: 'enabled_user', csv: 'enabledUser', required: true, about: 'Whether the account is in use.' },
    { name: 'givenName', type: 'text', column: 'given_name', csv: 'givenName', required: true, about: 'First name.' },
    { name: 'familyName', type: 'text', column: 'family_name', csv: 'familyName', required: true, about: 'Last name.' },
    { name: 'middleName', type: 'text', column: 'middle_name', csv: 'middleName', about: 'Middle names.' },
    {
      name: 'role', type: 'enum', column: 'role', csv: 'role', only: 'v1p1', required: 'v1p1', values: roles,
      about: 'What the person is at the school.',
    },
    { name: 'identifier', type: 'text', column: 'identifier', csv: 'identifier', about: 'The number that the person has at the school.' },
    { name: 'email', type: 'text', column: 'email', csv: 'email', about: 'E-mail address.' },
    { name: 'sms', type: 'text', column: 'sms', csv: 'sms', about: 'Mobile number for messages.' },
    { name: 'phone', type: 'text', column: 'phone', csv: 'phone', about: 'Phone number.' },
    {
      name: 'orgs', type: 'refs', column: 'org_ids', csv: 'orgSourcedIds', to: 'orgs', only: 'v1p1', required: 'v1p1',
      about: 'The organisations that the person belongs to.',
    },
    { name: 'orgSourcedIds', type: 'idList', column: 'org_ids', only: 'v1p1', about: 'The same organisations, as ids alone.' },
    { name: 'grades', type: 'list', column: 'grades', csv: 'grades', tellsOf: 'student', about: 'The year groups of a student.' },
    {
      name: 'agents', type: 'refs', column: 'agent_ids', csv: 'agentSourcedIds', to: 'users', late: true, relates: ['student', 'contact'],
      about: 'Of a student the parents and guardians, of a contact the children; only those whom the caller may see.',
    },
    {
      name: 'userMasterIdentifier', type: 'text', column: 'user_master_identifier', csv: 'userMasterIdentifier', only: 'v1p2',
      about: 'The identifier of the person across all systems and schools.',
    },
    preferred('preferredFirstName', 'preferred_first_name', 'preferredGivenName', 'The first name that the person prefers.'),
    preferred('preferredMiddleName', 'preferred_middle_name', 'preferredMiddleName', 'The middle names that the person prefers.'),
    preferred('preferredLastName', 'preferred_last_name', 'preferredFamilyName', 'The last name that the person prefers.'),
    preferred('pronouns', 'pronouns', 'pronouns', 'The pronouns that the person uses.'),
    {
      name: 'primaryOrg', type: 'ref', column: 'primary_org_id', csv: 'primaryOrgSourcedId', to: 'orgs', only: 'v1p2', namedBy: 'org',
      otherwise: onlyOrg,
      otherwiseSql: (sql) => sql`case when t.roles is null and cardinality(t.org_ids) = 1 then t.org_ids[1] end`,
      about: 'The organisation that the person mainly belongs to.',
    },
    userProfiles,
    userRoles,
  ],
};
