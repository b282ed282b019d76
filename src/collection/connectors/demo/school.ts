// In charge of the demo school: one synthetic English secondary school, the same on every machine and
// in every run, written out as the files of a OneRoster 1.1 bulk CSV package; at an instant, with what has changed by then.
import { changeRecorded, countYears, currentTerms, currentYear, sessions } from './calendar.ts';
import { courseTitle, departments, subjects } from './curriculum.ts';
import type { DemoFile } from './demo-file.ts';
import { driftSchool } from './drift.ts';
import { drawEnrolments } from './enrolments.ts';
import { drawFamilies } from './families.ts';
import { letHappen, type Happening } from './happenings.ts';
import { rollOver } from './roll-over.ts';
import type { Contact, Student } from './families.ts';
import { seededRandom } from './seeded-random.ts';
import { drawStaff } from './staff.ts';
import type { StaffMember } from './staff.ts';
import { drawRegistrationGroups, drawTeaching } from './timetable.ts';
import type { SchoolClass } from './timetable.ts';

export const demoEstablishment = { estab: '9990001', name: 'Thistlebrook Academy', email: 'office@thistlebrook.example' };

const mailDomain = 'thistlebrook.example';
const schoolId = 'org-9990001';
const trustId = 'org-lanternway';

/** By the number of summers since. Each takes 8 MB, and a collection asks for it several times: kept until nobody has asked for a while. */
const drawn: (readonly DemoFile[])[] = [];
const keptMs = 4_000;
let forgetting: NodeJS.Timeout | undefined;

/**
 * The demo school as the files of a OneRoster 1.1 bulk CSV package (manifest.csv first); without an instant, unmoved. happenings: what
 * somebody asked for besides. rollsOver: school years go by; otherwise it stays in the one that it was drawn in.
 */
export function demoSchool(at?: Date, { happenings = [], rollsOver = false }: Moved = {}): readonly DemoFile[] {
  forgetting ??= setTimeout(() => void drawn.splice(0), keptMs).unref();
  forgetting.refresh();
  const base = drawOnce(at && rollsOver ? countYears(at) : 0);
  return at === undefined ? base : letHappen(driftSchool(base, at), base, happenings);
}

export type Moved = Readonly<{ happenings?: readonly Happening[]; rollsOver?: boolean }>;

function drawOnce(years: number): readonly DemoFile[] {
  const known = (drawn[years] ??= years === 0 ? drawSchool() : rollOver(drawOnce(years - 1), years));
  return known;
}

function drawSchool(): DemoFile[] {
  const { students, contacts } = drawFamilies(demoEstablishment.estab);
  const staff = drawStaff();
  const registration = drawRegistrationGroups(staff);
  const teaching = drawTeaching(staff);
  const classes = [...registration, ...teaching.flatMap((taught) => taught.classes)];

  return [
    manifest(),
    file(
      'academicSessions',
      'title,type,startDate,endDate,parentSourcedId,schoolYear',
      sessions.map(({ id, title, type, start, end, parent, schoolYear }) => [id, false, title, type, start, end, parent, schoolYear]),
    ),
    file('orgs', 'name,type,identifier,parentSourcedId', [
      [trustId, false, 'Lanternway Learning Trust', 'district', '', ''],
      [schoolId, false, demoEstablishment.name, 'school', demoEstablishment.estab, trustId],
      ...departments.map(({ code, name }): Line => [departmentId(code), false, name, 'department', code, schoolId]),
    ]),
    file('courses', 'schoolYearSourcedId,title,courseCode,grades,orgSourcedId,subjects,subjectCodes', courseLines(classes)),
    file(
      'classes',
      'title,grades,courseSourcedId,classCode,classType,location,schoolSourcedId,termSourcedIds,subjects,subjectCodes,periods',
      classes.map((group) => [
        group.id, group.dissolved, group.title, grade(group.year), courseId(group), group.title.replace('/', '-'), group.type,
        group.room, schoolId, currentTerms.join(), listed(subjectTitle(group)), '', group.periods.join(),
      ]),
    ),
    file(
      'users',
      'enabledUser,orgSourcedIds,role,username,userIds,givenName,familyName,middleName,identifier,email,sms,phone,' +
        'agentSourcedIds,grades,password,metadata.house,metadata.tutorGroup',
      [...staff.map(staffLine), ...students.map(studentLine), ...contacts.map(contactLine)],
    ),
    file(
      'enrollments',
      'classSourcedId,schoolSourcedId,userSourcedId,role,primary,beginDate,endDate',
      drawEnrolments(students, staff, registration, teaching).map((enrolment) => [
        enrolment.id, enrolment.ended, enrolment.classId, schoolId, enrolment.userId, enrolment.role, enrolment.primary,
        enrolment.begin, enrolment.end,
      ]),
    ),
    file(
      'demographics',
      'birthDate,sex,americanIndianOrAlaskaNative,asian,blackOrAfricanAmerican,nativeHawaiianOrOtherPacificIslander,white,' +
        'demographicRaceTwoOrMoreRaces,hispanicOrLatinoEthnicity,countryOfBirthCode,stateOfBirthAbbreviation,cityOfBirth,' +
        'publicSchoolResidenceStatus',
      demographicLines(students),
    ),
  ];
}

/** An id, whether the record is to be deleted, and the cells after the three common columns. */
type Line = readonly [id: string, gone: boolean, ...cells: string[]];

function file(name: string, columns: string, lines: readonly Line[]): DemoFile {
  return {
    name: `${name}.csv`,
    header: ['sourcedId', 'status', 'dateLastModified', ...columns.split(',')],
    rows: lines.map(([id, gone, ...cells]) => [id, gone ? 'tobedeleted' : '', gone ? changeRecorded : '', ...cells]),
  };
}

function manifest(): DemoFile {
  const bulk = ['academicSessions', 'classes', 'courses', 'demographics', 'enrollments', 'orgs', 'users'];
  const files = [
    'academicSessions', 'categories', 'classes', 'classResources', 'courses', 'courseResources', 'demographics', 'enrollments',
    'lineItems', 'orgs', 'resources', 'results', 'users',
  ];
  return {
    name: 'manifest.csv',
    header: ['propertyName', 'value'],
    rows: [
      ['manifest.version', '1.0'],
      ['oneroster.version', '1.1'],
      ...files.map((name) => [`file.${name}`, bulk.includes(name) ? 'bulk' : 'absent']),
      ['source.systemName', 'Schoolbell demo school'],
      ['source.systemCode', 'schoolbell-demo'],
    ],
  };
}

function courseLines(classes: readonly SchoolClass[]): Line[] {
  const firstOfCourse = new Map<string, SchoolClass>();
  for (const group of classes) if (!firstOfCourse.has(courseId(group))) firstOfCourse.set(courseId(group), group);
  return [...firstOfCourse].map(([id, group]) => {
    const title = group.subject === 'Rg' ? `Year ${group.year} Registration` : courseTitle(group.year, group.subject);
    const code = `${grade(group.year)}${group.subject.toUpperCase()}`;
    return [id, false, currentYear, title, code, grade(group.year), schoolId, listed(subjectTitle(group)), ''];
  });
}

function staffLine(member: StaffMember): Line {
  const email = `${member.username}@${mailDomain}`;
  const orgs = [schoolId, ...member.departments.map(departmentId), ...(member.trust ? [trustId] : [])];
  const userIds = `{LDAP:${member.username}}${member.federated ? `,{Fed:${email}}` : ''}`;
  return [
    member.id, member.left, String(member.enabled), orgs.join(), member.role, member.username, userIds, member.given,
    member.family, member.middle, member.payroll, email, '', member.phone, '', '', '', '', '',
  ];
}

function studentLine(student: Student): Line {
  const email = `${student.username}@pupils.${mailDomain}`;
  const userIds = `{UPN:${student.upn}}${student.federated ? `,{Fed:${email}}` : ''}`;
  return [
    student.id, student.left, String(student.enabled), schoolId, 'student', student.username, userIds, student.given,
    student.family, student.middle, student.upn, email, '', '', student.contacts.join(), grade(student.year), '',
    student.house, `${student.year}${student.form}`,
  ];
}

function contactLine(contact: Contact): Line {
  return [
    contact.id, false, 'true', schoolId, contact.role, contact.username, '', contact.given, contact.family, '', contact.number,
    contact.email, contact.mobile, contact.phone, contact.children.join(), '', '', '', '',
  ];
}

function demographicLines(students: readonly Student[]): Line[] {
  const random = seededRandom('demographics');
  return students.map((student) => {
    const recorded = random.chance(0.04) ? random.below(7) : undefined;
    const flags = Array.from({ length: 7 }, (_, flag) => (recorded === undefined ? '' : String(flag === recorded)));
    const { country = '', city = '' } = student.birthplace ?? {};
    return [student.id, student.left, student.born, student.sex, ...flags, country, '', city, ''];
  });
}

function courseId(group: SchoolClass): string {
  return `crs-27-${grade(group.year)}-${group.subject.toLowerCase()}`;
}

function departmentId(code: string): string {
  return `${schoolId}-${code.toLowerCase()}`;
}

function subjectTitle(group: SchoolClass): string {
  return group.subject === 'Rg' ? 'Registration' : (subjects.get(group.subject)?.title ?? group.subject);
}

/** Items of a list cell hold no commas. */
function listed(item: string): string {
  return item.replaceAll(',', '');
}

function grade(year: number): string {
  return String(year).padStart(2, '0');
}
