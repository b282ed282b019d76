// In charge of the accounts that a person has in other systems, as OneRoster 1.2 lists them. Their passwords are read past: what is
// not stored cannot leave.
import type { Field } from '../resource.ts';

export const profilesFile = {
  name: 'userProfiles.csv',
  header: 'sourcedId,status,dateLastModified,userSourcedId,profileType,vendorId,applicationId,description,credentialType,username,password',
};

const credential: readonly Field[] = [
  { name: 'type', type: 'text', column: 'type', csv: 'credentialType', required: true, about: 'What kind of account it is.' },
  { name: 'username', type: 'text', column: 'username', csv: 'username', required: true, about: 'The name to sign in with.' },
];

const items: readonly Field[] = [
  { name: 'profileId', type: 'uri', column: 'profileId', csv: 'sourcedId', required: true, about: 'Its id, unique for the person.' },
  { name: 'profileType', type: 'text', column: 'profileType', csv: 'profileType', required: true, about: 'What kind of system it is of.' },
  { name: 'vendorId', type: 'text', column: 'vendorId', csv: 'vendorId', required: true, about: 'Who made the system.' },
  { name: 'applicationId', type: 'text', column: 'applicationId', csv: 'applicationId', about: 'Which of the vendor; `default` means all of them.' },
  { name: 'description', type: 'text', column: 'description', csv: 'description', about: 'What it is for.' },
  { name: 'credentials', type: 'items', column: 'credentials', items: credential, about: 'How the person signs in there, without passwords.' },
];

export const userProfiles: Field = {
  name: 'userProfiles', type: 'items', column: 'user_profiles', file: profilesFile.name, only: 'v1p2', items, namedBy: 'userProfile',
  about: 'Accounts of the person in other systems.',
};
