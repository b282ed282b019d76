// In charge of what an organisation is.
import type { Resource } from '../resource.ts';

export const org: Resource = {
  collection: 'orgs',
  one: 'org',
  refType: 'org',
  table: 'roster_org',
  file: 'orgs.csv',
  header: 'sourcedId,status,dateLastModified,name,type,identifier,parentSourcedId',
  kinds: ['school', 'other'],
  kindBy: { field: 'type', kindOf: (type) => (type === 'school' ? 'school' : 'other') },
  fields: [
    { name: 'name', type: 'text', column: 'name', csv: 'name', required: true },
    { name: 'type', type: 'enum', column: 'type', csv: 'type', required: true, values: ['department', 'school', 'district', 'local', 'state', 'national'] },
    { name: 'identifier', type: 'text', column: 'identifier', csv: 'identifier' },
    { name: 'parent', type: 'ref', column: 'parent_id', csv: 'parentSourcedId', to: 'orgs' },
    { name: 'children', type: 'refs', column: 'child_ids', to: 'orgs', late: true },
  ],
};
