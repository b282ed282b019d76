// In charge of what an academic session is: a school year, a term or a grading period.
import { unchanged, type Resource } from '../resource.ts';

export const academicSession: Resource = {
  collection: 'academicSessions',
  one: 'academicSession',
  refType: 'academicSession',
  about: 'A school year, a term or a part of one.',
  table: 'roster_academic_session',
  file: 'academicSessions.csv',
  headers: unchanged('sourcedId,status,dateLastModified,title,type,startDate,endDate,parentSourcedId,schoolYear'),
  kinds: ['term', 'gradingPeriod', 'other'],
  kindBy: { field: 'type', kindOf: (type) => (type === 'term' || type === 'gradingPeriod' ? type : 'other') },
  fields: [
    { name: 'title', type: 'text', column: 'title', csv: 'title', required: true, about: 'Its name.' },
    { name: 'startDate', type: 'date', column: 'start_date', csv: 'startDate', required: true, about: 'The first day.' },
    { name: 'endDate', type: 'date', column: 'end_date', csv: 'endDate', required: true, about: 'The end; the standard means the day after the last one.' },
    {
      name: 'type', type: 'enum', column: 'type', csv: 'type', required: true, values: ['gradingPeriod', 'semester', 'schoolYear', 'term'],
      foreign: 'shown',
      about: 'What kind of session it is.',
    },
    {
      name: 'parent', type: 'ref', column: 'parent_id', csv: 'parentSourcedId', to: 'academicSessions',
      about: 'The session that it is part of: of a term the school year, of a grading period the term.',
    },
    { name: 'schoolYear', type: 'year', column: 'school_year', csv: 'schoolYear', required: true, about: 'The year in which the school year ends.' },
    { name: 'children', type: 'refs', column: 'child_ids', to: 'academicSessions', late: true, about: 'The sessions that are part of it.' },
  ],
};
