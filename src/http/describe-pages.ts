// In charge of describing pages of lists: how many there are, and the way to the next one.
import { Type } from './json-schema.ts';
import { exactly, text, whole } from './describe-route.ts';

export const paginationSchema = exactly({
  PageSize: whole('How many rows a page has.'),
  PageNumber: whole('The number of this page, from 1.'),
  PageCount: whole('How many pages there are.'),
  RowCount: whole('How many rows there are on all pages.'),
  NextPage: Type.Optional(text('The query of the next page, to be followed as it is; absent on the last one.')),
});
