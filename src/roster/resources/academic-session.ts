// In charge of what an academic session is: a school year, a term or a grading period.
import type { Resource } from '../resource.ts';

export const academicSession: Resource = {
  collection: 'academicSessions',
  one: 'academicSession',
  refType: 'academicSession',
  table: 'roster_academic_session',
  file: 'academicSessions.csv',
  header: 'sourcedId,status,dateLastModified,title,type,startDate,endDate,parentSourcedId,schoolYear',
  kinds: ['term', 'gradingPeriod', 'other'],
  kindBy: { field: 'type', kindOf: (type) => (type === 'term' || type === 'gradingPeriod' ? type : 'other') },
  fields: [
    { name: 'title', type: 'text', column: 'title', csv: 'title', required: true },
    { name: 'startDate', type: 'date', column: 'start_date', csv: 'startDate', required: true },
    { name: 'endDate', type: 'date', column: 'end_date', csv: 'endDate', required: true },
    { name: 'type', type: 'enum', column: 'type', csv: 'type', required: true, values: ['gradingPeriod', 'semester', 'schoolYear', 'term'] },
    { name: 'parent', type: 'ref', column: 'parent_id', csv: 'parentSourcedId', to: 'academicSessions' },
    { name: 'schoolYear', type: 'year', column: 'school_year', csv: 'schoolYear', required: true },
    { name: 'children', type: 'refs', column: 'child_ids', to: 'academicSessions', late: true },
  ],
};
