// In charge of what a course is: a subject as it is taught to a year group.
import { unchanged, type Resource } from '../resource.ts';

export const course: Resource = {
  collection: 'courses',
  one: 'course',
  refType: 'course',
  about: 'A subject as it is taught to a year group.',
  table: 'roster_course',
  file: 'courses.csv',
  headers: unchanged('sourcedId,status,dateLastModified,schoolYearSourcedId,title,courseCode,grades,orgSourcedId,subjects,subjectCodes'),
  kinds: ['course'],
  kindBy: { field: 'title', kindOf: () => 'course' },
  fields: [
    { name: 'title', type: 'text', column: 'title', csv: 'title', required: true, about: 'Its name.' },
    {
      name: 'schoolYear', type: 'ref', column: 'school_year_id', csv: 'schoolYearSourcedId', to: 'academicSessions',
      about: 'The school year in which it is taught.',
    },
    {
      name: 'courseCode', type: 'text', column: 'course_code', csv: 'courseCode', required: 'v1p2', blank: 'sourcedId',
      about: 'Its code at the school.',
    },
    { name: 'grades', type: 'list', column: 'grades', csv: 'grades', about: 'The year groups that take it.' },
    { name: 'subjects', type: 'list', column: 'subjects', csv: 'subjects', pairedWith: 'subjectCodes', about: 'Its subjects, in words.' },
    { name: 'org', type: 'ref', column: 'org_id', csv: 'orgSourcedId', to: 'orgs', required: 'v1p1', about: 'The organisation that offers it.' },
    {
      name: 'subjectCodes', type: 'list', column: 'subject_codes', csv: 'subjectCodes', pairedWith: 'subjects',
      about: 'Its subjects, as codes of the source.',
    },
  ],
};
