// In charge of the attendance codes of England: what each means, from when to when it may be entered, and what to
// enter instead. The set changed on 19 August 2024; a register of before keeps the codes of before.

export type Meaning = 'Present' | 'Approved educational activity' | 'Authorised absence' | 'Unauthorised absence' | 'Not counted' | 'Administrative';

export type AttendanceCode = Readonly<{
  mark: string;
  description: string;
  meaning: Meaning;
  /** YYYY-MM-DD, inclusive; undefined: as far back as registers go. */
  validFrom: string | undefined;
  /** YYYY-MM-DD, inclusive; undefined: still in use. */
  validTo: string | undefined;
  /** Whether an application may enter it. */
  writable: boolean;
  /** What to enter on a day on which this one is not in use. */
  instead: string | undefined;
}>;

type More = Partial<Pick<AttendanceCode, 'validFrom' | 'validTo' | 'writable' | 'instead'>>;

const lastOfOldSet = '2024-08-18';
const firstOfNewSet = '2024-08-19';

const replacedBy = (instead: string): More => ({ validTo: lastOfOldSet, instead });
const newInPlaceOf = (instead: string): More => ({ validFrom: firstOfNewSet, instead });
const readOnly: More = { writable: false };

export const attendanceCodes: readonly AttendanceCode[] = [
  code('/', 'Present in the morning', 'Present'),
  code('\\', 'Present in the afternoon', 'Present'),
  code('L', 'Late, before the register closed', 'Present'),

  code('K', 'Attending provision arranged by the local authority', 'Approved educational activity', newInPlaceOf('B')),
  code('V', 'On an educational visit or trip', 'Approved educational activity'),
  code('P', 'Taking part in a sporting activity', 'Approved educational activity'),
  code('W', 'On work experience', 'Approved educational activity'),
  code('B', 'At another approved educational activity', 'Approved educational activity'),

  code('C', 'Leave of absence in other exceptional circumstances', 'Authorised absence'),
  code('C1', 'Leave of absence for a regulated performance or employment abroad', 'Authorised absence', newInPlaceOf('C')),
  code('C2', 'Leave of absence for a part-time timetable', 'Authorised absence', newInPlaceOf('C')),
  code('E', 'Suspended or permanently excluded, without other provision', 'Authorised absence'),
  code('H', 'Holiday granted by the school', 'Authorised absence', replacedBy('C')),
  code('I', 'Illness', 'Authorised absence'),
  code('J', 'At an interview', 'Authorised absence', replacedBy('J1')),
  code('J1', 'At an interview for employment or for another place of education', 'Authorised absence', newInPlaceOf('J')),
  code('M', 'At a medical or dental appointment', 'Authorised absence'),
  code('R', 'Religious observance', 'Authorised absence'),
  code('S', 'Study leave for a public examination', 'Authorised absence'),
  code('T', 'Parent travelling for occupational purposes', 'Authorised absence'),

  code('G', 'Holiday not granted by the school', 'Unauthorised absence'),
  code('N', 'Reason not yet established', 'Unauthorised absence'),
  code('O', 'Absent in other or unknown circumstances', 'Unauthorised absence'),
  code('U', 'Arrived after the register closed', 'Unauthorised absence'),

  // Neither present nor absent: the session is no possible attendance of this pupil.
  code('D', 'At another school where the pupil is also registered', 'Not counted'),
  code('X', 'Not of compulsory school age and not required to attend', 'Not counted'),
  code('Q', 'Unable to attend: access arrangements are lacking', 'Not counted', newInPlaceOf('Y')),
  code('Y', 'Unable to attend in exceptional circumstances', 'Not counted', replacedBy('Y1')),
  code('Y1', 'Unable to attend: the transport normally provided is not available', 'Not counted', newInPlaceOf('Y')),
  code('Y2', 'Unable to attend: travel is widely disrupted', 'Not counted', newInPlaceOf('Y')),
  code('Y3', 'Unable to attend: part of the premises is closed', 'Not counted', newInPlaceOf('Y')),
  code('Y4', 'Unable to attend: the whole site is closed unexpectedly', 'Not counted', newInPlaceOf('Y')),
  code('Y5', 'Unable to attend: in criminal justice detention', 'Not counted', newInPlaceOf('Y')),
  code('Y6', 'Unable to attend: public health guidance or law', 'Not counted', newInPlaceOf('Y')),
  code('Y7', 'Unable to attend: another unavoidable cause, named in the notes', 'Not counted', newInPlaceOf('Y')),

  // Nobody enters these pupil by pupil: # follows from the school's calendar, Z from its admission register, and
  // - is how an MIS shows that nothing has been entered. An application that could write them would be changing the
  // calendar, the roll, or taking back what a teacher entered.
  code('#', 'Planned closure of the whole school', 'Administrative', readOnly),
  code('Z', 'Not yet on the admission register', 'Administrative', readOnly),
  code('-', 'No mark recorded', 'Administrative', readOnly),
];

const codesByMark = new Map(attendanceCodes.map((one) => [one.mark, one]));

/** The code with this mark, exactly as written; with a date, only if it was in use on that day. */
export function findCode(mark: string, date?: string): AttendanceCode | undefined {
  const found = codesByMark.get(mark);
  return found && (date === undefined || isInUse(found, date)) ? found : undefined;
}

/** Dates as YYYY-MM-DD are in the order of their characters. */
export function isInUse({ validFrom, validTo }: AttendanceCode, date: string): boolean {
  return (validFrom === undefined || validFrom <= date) && (validTo === undefined || date <= validTo);
}

function code(mark: string, description: string, meaning: Meaning, { validFrom, validTo, writable = true, instead }: More = {}): AttendanceCode {
  return { mark, description, meaning, validFrom, validTo, writable, instead };
}
