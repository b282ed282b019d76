// In charge of the four fields that every answer under /api ends with: all null when there is nothing to say.

export const fine = { Message: null, ExceptionType: null, ExceptionMessage: null, InnerException: null } as const;
