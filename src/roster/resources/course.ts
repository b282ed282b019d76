// In charge of what a course is: a subject as it is taught to a year group.
import type { Resource } from '../resource.ts';

export const course: Resource = {
  collection: 'courses',
  one: 'course',
  refType: 'course',
  table: 'roster_course',
  file: 'courses.csv',
  header: 'sourcedId,status,dateLastModified,schoolYearSourcedId,title,courseCode,grades,orgSourcedId,subjects,subjectCodes',
  kinds: ['course'],
  kindBy: { field: 'title', kindOf: () => 'course' },
  fields: [
    { name: 'title', type: 'text', column: 'title', csv: 'title', required: true },
    { name: 'schoolYear', type: 'ref', column: 'school_year_id', csv: 'schoolYearSourcedId', to: 'academicSessions' },
    { name: 'courseCode', type: 'text', column: 'course_code', csv: 'courseCode' },
    { name: 'grades', type: 'list', column: 'grades', csv: 'grades' },
    { name: 'subjects', type: 'list', column: 'subjects', csv: 'subjects' },
    { name: 'org', type: 'ref', column: 'org_id', csv: 'orgSourcedId', to: 'orgs', required: true },
    { name: 'subjectCodes', type: 'list', column: 'subject_codes', csv: 'subjectCodes' },
  ],
};
