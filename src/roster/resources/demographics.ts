// In charge of what a demographics record is; its sourcedId is that of the user it describes.
import type { Field, Resource } from '../resource.ts';
import { user } from './user.ts';

const flag = (name: string, column: string): Field => ({ name, type: 'boolean', column, csv: name });
const text = (name: string, column: string): Field => ({ name, type: 'text', column, csv: name });

export const demographics: Resource = {
  collection: 'demographics',
  one: 'demographics',
  refType: 'demographics',
  table: 'roster_demographics',
  file: 'demographics.csv',
  header:
    'sourcedId,status,dateLastModified,birthDate,sex,americanIndianOrAlaskaNative,asian,blackOrAfricanAmerican,nativeHawaiianOrOtherPacificIslander,' +
    'white,demographicRaceTwoOrMoreRaces,hispanicOrLatinoEthnicity,countryOfBirthCode,stateOfBirthAbbreviation,cityOfBirth,' +
    'publicSchoolResidenceStatus',
  kinds: user.kinds,
  personColumn: 'sourced_id',
  fields: [
    { name: 'birthDate', type: 'date', column: 'birth_date', csv: 'birthDate' },
    { name: 'sex', type: 'enum', column: 'sex', csv: 'sex', values: ['male', 'female'] },
    flag('americanIndianOrAlaskaNative', 'american_indian_or_alaska_native'),
    flag('asian', 'asian'),
    flag('blackOrAfricanAmerican', 'black_or_african_american'),
    flag('nativeHawaiianOrOtherPacificIslander', 'native_hawaiian_or_other_pacific_islander'),
    flag('white', 'white'),
    flag('demographicRaceTwoOrMoreRaces', 'demographic_race_two_or_more_races'),
    flag('hispanicOrLatinoEthnicity', 'hispanic_or_latino_ethnicity'),
    text('countryOfBirthCode', 'country_of_birth_code'),
    text('stateOfBirthAbbreviation', 'state_of_birth_abbreviation'),
    text('cityOfBirth', 'city_of_birth'),
    text('publicSchoolResidenceStatus', 'public_school_residence_status'),
  ],
};
