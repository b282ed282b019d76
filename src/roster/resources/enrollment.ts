// In charge of what an enrolment is: a person in a class.
import { roles, unchanged, type Resource } from '../resource.ts';
import { kindOfRole } from './user-role.ts';
import { user } from './user.ts';

export const enrollment: Resource = {
  collection: 'enrollments',
  one: 'enrollment',
  refType: 'enrollment',
  about: 'A person in a class, as a student or as staff.',
  table: 'roster_enrollment',
  file: 'enrollments.csv',
  headers: unchanged('sourcedId,status,dateLastModified,classSourcedId,schoolSourcedId,userSourcedId,role,primary,beginDate,endDate'),
  kinds: user.kinds,
  personColumn: 'user_id',
  ownKind: { column: 'role', kinds: Object.fromEntries(roles.map((role) => [role, kindOfRole(role)])) },
  fields: [
    { name: 'user', type: 'ref', column: 'user_id', csv: 'userSourcedId', to: 'users', required: true, about: 'The person.' },
    { name: 'class', type: 'ref', column: 'class_id', csv: 'classSourcedId', to: 'classes', required: true, about: 'The class.' },
    { name: 'school', type: 'ref', column: 'school_id', csv: 'schoolSourcedId', to: 'orgs', required: true, about: 'The school at which the class is held.' },
    {
      name: 'role', type: 'enum', column: 'role', csv: 'role', required: true,
      values: { v1p1: roles, v1p2: ['administrator', 'proctor', 'student', 'teacher'] },
      spelled: { aide: 'ext:aide', guardian: 'ext:guardian', parent: 'ext:parent', relative: 'ext:relative' },
      about: 'What the person is in the class.',
    },
    { name: 'primary', type: 'boolean', column: 'primary', csv: 'primary', blank: 'false', about: 'Of staff, whether they lead the class.' },
    { name: 'beginDate', type: 'date', column: 'begin_date', csv: 'beginDate', about: 'The first day.' },
    { name: 'endDate', type: 'date', column: 'end_date', csv: 'endDate', about: 'The end; the standard means the day after the last one.' },
  ],
};
