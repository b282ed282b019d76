// In charge of what a class is: a registration group or a teaching class.
import { unchanged, type Resource } from '../resource.ts';

export const schoolClass: Resource = {
  collection: 'classes',
  one: 'class',
  refType: 'class',
  about: 'A registration group or a teaching class.',
  table: 'roster_class',
  file: 'classes.csv',
  headers: unchanged(
    'sourcedId,status,dateLastModified,title,grades,courseSourcedId,classCode,classType,location,schoolSourcedId,termSourcedIds,subjects,subjectCodes,periods',
  ),
  kinds: ['class'],
  kindBy: { field: 'title', kindOf: () => 'class' },
  fields: [
    { name: 'title', type: 'text', column: 'title', csv: 'title', required: true, about: 'Its name.' },
    { name: 'classCode', type: 'text', column: 'class_code', csv: 'classCode', about: 'Its code at the school.' },
    {
      name: 'classType', type: 'enum', column: 'class_type', csv: 'classType', required: 'v1p1', values: ['homeroom', 'scheduled'], foreign: 'shown',
      about: 'homeroom is a registration group, scheduled a class that is taught.',
    },
    { name: 'location', type: 'text', column: 'location', csv: 'location', about: 'The room.' },
    { name: 'grades', type: 'list', column: 'grades', csv: 'grades', about: 'The year groups of its students.' },
    { name: 'subjects', type: 'list', column: 'subjects', csv: 'subjects', pairedWith: 'subjectCodes', about: 'Its subjects, in words.' },
    { name: 'course', type: 'ref', column: 'course_id', csv: 'courseSourcedId', to: 'courses', required: true, about: 'The course that is taught in it.' },
    { name: 'school', type: 'ref', column: 'school_id', csv: 'schoolSourcedId', to: 'orgs', required: true, about: 'The school that it is held at.' },
    { name: 'terms', type: 'refs', column: 'term_ids', csv: 'termSourcedIds', to: 'academicSessions', required: true, about: 'The terms in which it is held.' },
    {
      name: 'subjectCodes', type: 'list', column: 'subject_codes', csv: 'subjectCodes', pairedWith: 'subjects',
      about: 'Its subjects, as codes of the source.',
    },
    { name: 'periods', type: 'list', column: 'periods', csv: 'periods', about: 'When it is held, as periods of the timetable.' },
  ],
};
