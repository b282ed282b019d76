// In charge of the plain name of every field that can leave: what a school reads where a program reads givenName. Two
// fields of one thing with the same plain name say the same, and are shown as one.

type Names = Readonly<Record<string, string>>;

const number = 'Number of the record';
const moved = 'When it last changed';
/** What any record carries. */
const always: Names = {
  sourcedId: number, Id: number, status: 'Whether it is current or has ended', dateLastModified: moved, LastUpdated: moved,
  metadata: 'Further details that your system exports',
};

const linked = 'as far as you share those people';
const school = 'School';
const year = 'Year group';
const subjects = 'Subjects';
const person: Names = {
  username: 'User name', userIds: 'Identifiers in other systems, such as the unique pupil number (UPN)',
  metadata: 'Further details that your system exports, such as house or tutor group', enabledUser: 'Whether the account is in use', givenName: 'First name',
  familyName: 'Last name', middleName: 'Middle names', role: 'Role', identifier: 'Identifier at the school', email: 'E-mail address',
  sms: 'Mobile number', phone: 'Phone number', orgs: school, orgSourcedIds: school, grades: year,
  agents: `Parents, guardians and children, ${linked}`, roles: 'Role', primaryOrg: school, userMasterIdentifier: 'Identifier in all systems and schools',
  preferredFirstName: 'First name that is preferred', preferredMiddleName: 'Middle names that are preferred',
  preferredLastName: 'Last name that is preferred', pronouns: 'Pronouns', userProfiles: 'Accounts in other systems, without passwords',
};
const row: Names = {
  Forename: 'First name', MiddleName: 'Middle names', Surname: 'Last name', DisplayName: 'Full name', Email: 'E-mail address', Role: 'Role',
  YearGroup: year, RegistrationGroup: 'Registration group', Phone: 'Phone number', StudentIds: `Parents, guardians and children, ${linked}`,
};
const mark: Names = {
  StudentId: 'Student', Date: 'Day', Type: 'Kind of mark', Session: 'Morning or afternoon', Mark: 'Attendance mark', MinsLate: 'Minutes late',
  Notes: 'Notes to the mark',
};

const names: Readonly<Record<string, Names>> = {
  orgs: { name: 'Name', type: 'Kind of organisation', identifier: 'Official number', parent: 'What it belongs to', children: 'What belongs to it' },
  SchoolInfo: { Estab: 'Official number', Name: 'Name', Email: 'Registered e-mail address', TimeZone: 'Time zone', Connector: 'Where your data comes from' },
  Counts: { Area: 'How many records of each kind it may read', Count: 'How many records of each kind it may read' },
  academicSessions: {
    title: 'Name', startDate: 'First day', endDate: 'Last day', type: 'Kind, such as term or school year', parent: 'School year that it is part of',
    schoolYear: 'School year', children: 'Its parts',
  },
  Calendar: { Date: 'Each day', IsSchoolDay: 'Whether it is a school day', Term: 'Term of the day' },
  courses: {
    title: 'Name', schoolYear: 'School year', courseCode: 'Code', grades: year, subjects, org: school, subjectCodes: 'Subject codes',
  },
  classes: {
    title: 'Name', classCode: 'Code', classType: 'Registration or teaching group', location: 'Room', grades: year, subjects, course: 'Course', school,
    terms: 'Terms', subjectCodes: 'Subject codes', periods: 'Periods of the timetable',
  },
  Groups: {
    Name: 'Name', Code: 'Code', Type: 'Registration or teaching group', Subject: subjects, StaffIds: `Staff of the group, ${linked}`,
    StudentIds: `Students of the group, ${linked}`,
  },
  users: person,
  Students: row,
  Staff: row,
  Contacts: row,
  enrollments: {
    user: 'Person', class: 'Class', school, role: 'Role in the class', primary: 'Whether they lead the class', beginDate: 'First day', endDate: 'Last day',
  },
  demographics: {
    birthDate: 'Date of birth', sex: 'Sex', americanIndianOrAlaskaNative: 'Ethnicity: American Indian or Alaska Native', asian: 'Ethnicity: Asian',
    blackOrAfricanAmerican: 'Ethnicity: Black or African American',
    nativeHawaiianOrOtherPacificIslander: 'Ethnicity: Native Hawaiian or other Pacific Islander', white: 'Ethnicity: White',
    demographicRaceTwoOrMoreRaces: 'Ethnicity: two or more', hispanicOrLatinoEthnicity: 'Ethnicity: Hispanic or Latino',
    countryOfBirthCode: 'Country of birth', stateOfBirthAbbreviation: 'State of birth', cityOfBirth: 'Place of birth',
    publicSchoolResidenceStatus: 'Residence status',
  },
  AttendanceCodes: {
    Mark: 'The codes of marks and their meanings', Description: 'The codes of marks and their meanings', Meaning: 'The codes of marks and their meanings',
    ValidFrom: 'The days on which a code is valid', ValidTo: 'The days on which a code is valid', Writable: 'Whether a code can be entered',
  },
  AttendanceForDate: mark,
  AttendanceForDateRange: mark,
  Writeback: {
    ...mark, Index: 'Its place in what was sent', PreviousMark: 'The mark that stood there before',
    Result: 'What became of it', Code: 'What became of it', Message: 'What became of it',
  },
  GetUsers: {
    DisplayName: 'Full name', FirstName: 'First name', Surname: 'Last name', LastLoggedIn: 'When they last signed in', UserName: 'User name', Roles: 'Role',
    PresenceType: 'Student, teacher or other staff', WorkEmail: 'Work e-mail address', Email: 'E-mail address',
  },
  SignIn: {
    sub: number, presence_id: number, sourced_id: number, role: 'Role', establishment: school, estab: school, name: 'Full name', given_name: 'First name',
    family_name: 'Last name', preferred_username: 'User name', email: 'E-mail address', email_verified: 'Whether the e-mail address was verified',
  },
};

/** of: a OneRoster collection, a data endpoint, or what else an application is answered. */
export function findPlainName(of: string, field: string): string | undefined {
  const known = Object.hasOwn(names, of) ? names[of] : undefined;
  return known && Object.hasOwn(known, field) ? known[field] : always[field];
}

/** Kinds of identifiers and further details have names of the school's own system; these are common ones. */
const details: Names = {
  upn: 'Unique pupil number (UPN)', uln: 'Unique learner number (ULN)', uci: 'Candidate identifier (UCI)',
  fed: 'Identity for sign-in elsewhere', ldap: 'Network account',
  house: 'House', tutorgroup: 'Tutor group', sen: 'Special educational needs', pupilpremium: 'Pupil premium', freeschoolmeals: 'Free school meals',
};

/** The name of a detail in words: tutorGroup is a tutor group. */
export function describeDetail(key: string): string {
  const known = key.toLowerCase().replace(/[^a-z]/g, '');
  if (Object.hasOwn(details, known)) return details[known] ?? key;
  const words = key.replace(/([a-z\d])([A-Z])/g, '$1 $2').replace(/[_.-]+/g, ' ').trim();
  return words === '' || words === words.toUpperCase() ? key : words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}
