// In charge of what an organisation is.
import { unchanged, type Resource } from '../resource.ts';

export const org: Resource = {
  collection: 'orgs',
  one: 'org',
  refType: 'org',
  about: 'An organisation: the school, what it belongs to, and its departments.',
  table: 'roster_org',
  file: 'orgs.csv',
  headers: unchanged('sourcedId,status,dateLastModified,name,type,identifier,parentSourcedId'),
  kinds: ['school', 'other'],
  kindBy: { field: 'type', kindOf: (type) => (type === 'school' ? 'school' : 'other') },
  fields: [
    { name: 'name', type: 'text', column: 'name', csv: 'name', required: true, about: 'Its name.' },
    {
      name: 'type', type: 'enum', column: 'type', csv: 'type', required: true, values: ['department', 'school', 'district', 'local', 'state', 'national'],
      foreign: 'shown',
      about: 'What kind of organisation it is.',
    },
    {
      name: 'identifier', type: 'text', column: 'identifier', csv: 'identifier', required: 'v1p2', blank: 'sourcedId',
      about: 'Its official number, of a school in England the seven digits of LA and establishment.',
    },
    { name: 'parent', type: 'ref', column: 'parent_id', csv: 'parentSourcedId', to: 'orgs', about: 'The organisation that it belongs to.' },
    { name: 'children', type: 'refs', column: 'child_ids', to: 'orgs', late: true, about: 'The organisations that belong to it.' },
  ],
};
