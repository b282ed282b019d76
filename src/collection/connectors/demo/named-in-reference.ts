// In charge of what of the demo school the reference names in examples and samples: there whenever these are tried.

export const exampleStudent = 'u-s-wy16xmrfk7';
/** A school day, whose register the demo keeps for good. */
export const exampleDay = '2026-11-12';
