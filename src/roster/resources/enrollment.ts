// In charge of what an enrolment is: a person in a class.
import { roles, type Resource } from '../resource.ts';
import { user } from './user.ts';

export const enrollment: Resource = {
  collection: 'enrollments',
  one: 'enrollment',
  refType: 'enrollment',
  table: 'roster_enrollment',
  file: 'enrollments.csv',
  header: 'sourcedId,status,dateLastModified,classSourcedId,schoolSourcedId,userSourcedId,role,primary,beginDate,endDate',
  kinds: user.kinds,
  personColumn: 'user_id',
  fields: [
    { name: 'user', type: 'ref', column: 'user_id', csv: 'userSourcedId', to: 'users', required: true },
    { name: 'class', type: 'ref', column: 'class_id', csv: 'classSourcedId', to: 'classes', required: true },
    { name: 'school', type: 'ref', column: 'school_id', csv: 'schoolSourcedId', to: 'orgs', required: true },
    { name: 'role', type: 'enum', column: 'role', csv: 'role', required: true, values: roles },
    { name: 'primary', type: 'boolean', column: 'primary', csv: 'primary' },
    { name: 'beginDate', type: 'date', column: 'begin_date', csv: 'beginDate' },
    { name: 'endDate', type: 'date', column: 'end_date', csv: 'endDate' },
  ],
};
