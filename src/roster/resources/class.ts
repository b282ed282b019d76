// In charge of what a class is: a registration group or a teaching class.
import type { Resource } from '../resource.ts';

export const schoolClass: Resource = {
  collection: 'classes',
  one: 'class',
  refType: 'class',
  table: 'roster_class',
  file: 'classes.csv',
  header:
    'sourcedId,status,dateLastModified,title,grades,courseSourcedId,classCode,classType,location,schoolSourcedId,termSourcedIds,subjects,subjectCodes,periods',
  kinds: ['class'],
  kindBy: { field: 'title', kindOf: () => 'class' },
  fields: [
    { name: 'title', type: 'text', column: 'title', csv: 'title', required: true },
    { name: 'classCode', type: 'text', column: 'class_code', csv: 'classCode' },
    { name: 'classType', type: 'enum', column: 'class_type', csv: 'classType', required: true, values: ['homeroom', 'scheduled'] },
    { name: 'location', type: 'text', column: 'location', csv: 'location' },
    { name: 'grades', type: 'list', column: 'grades', csv: 'grades' },
    { name: 'subjects', type: 'list', column: 'subjects', csv: 'subjects' },
    { name: 'course', type: 'ref', column: 'course_id', csv: 'courseSourcedId', to: 'courses', required: true },
    { name: 'school', type: 'ref', column: 'school_id', csv: 'schoolSourcedId', to: 'orgs', required: true },
    { name: 'terms', type: 'refs', column: 'term_ids', csv: 'termSourcedIds', to: 'academicSessions', required: true },
    { name: 'subjectCodes', type: 'list', column: 'subject_codes', csv: 'subjectCodes' },
    { name: 'periods', type: 'list', column: 'periods', csv: 'periods' },
  ],
};
