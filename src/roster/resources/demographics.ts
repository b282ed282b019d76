// In charge of what a demographics record is; its sourcedId is that of the user it describes.
import { unchanged, type Field, type Resource } from '../resource.ts';
import { user } from './user.ts';

const flag = (name: string, column: string, about: string): Field => ({ name, type: 'boolean', column, csv: name, about });
const text = (name: string, column: string, about: string): Field => ({ name, type: 'text', column, csv: name, about });

export const demographics: Resource = {
  collection: 'demographics',
  one: 'demographics',
  refType: 'demographics',
  about: 'Details of a person, mostly of a student, which a school grants apart; its sourcedId is that of the user.',
  table: 'roster_demographics',
  file: 'demographics.csv',
  headers: unchanged(
    'sourcedId,status,dateLastModified,birthDate,sex,americanIndianOrAlaskaNative,asian,blackOrAfricanAmerican,nativeHawaiianOrOtherPacificIslander,' +
    'white,demographicRaceTwoOrMoreRaces,hispanicOrLatinoEthnicity,countryOfBirthCode,stateOfBirthAbbreviation,cityOfBirth,' +
    'publicSchoolResidenceStatus',
  ),
  kinds: user.kinds,
  personColumn: 'sourced_id',
  fields: [
    { name: 'birthDate', type: 'date', column: 'birth_date', csv: 'birthDate', about: 'Date of birth.' },
    {
      name: 'sex', type: 'enum', column: 'sex', csv: 'sex', foreign: 'omitted',
      values: { v1p1: ['male', 'female'], v1p2: ['male', 'female', 'unspecified', 'other'] },
      about: 'Sex.',
    },
    flag('americanIndianOrAlaskaNative', 'american_indian_or_alaska_native', 'Ethnicity: American Indian or Alaska Native.'),
    flag('asian', 'asian', 'Ethnicity: Asian.'),
    flag('blackOrAfricanAmerican', 'black_or_african_american', 'Ethnicity: Black or African American.'),
    flag('nativeHawaiianOrOtherPacificIslander', 'native_hawaiian_or_other_pacific_islander', 'Ethnicity: Native Hawaiian or other Pacific Islander.'),
    flag('white', 'white', 'Ethnicity: White.'),
    flag('demographicRaceTwoOrMoreRaces', 'demographic_race_two_or_more_races', 'Ethnicity: two or more.'),
    flag('hispanicOrLatinoEthnicity', 'hispanic_or_latino_ethnicity', 'Ethnicity: Hispanic or Latino.'),
    text('countryOfBirthCode', 'country_of_birth_code', 'Country of birth, as a code.'),
    text('stateOfBirthAbbreviation', 'state_of_birth_abbreviation', 'State of birth, abbreviated.'),
    text('cityOfBirth', 'city_of_birth', 'Place of birth.'),
    text('publicSchoolResidenceStatus', 'public_school_residence_status', 'Residence status.'),
  ],
};
