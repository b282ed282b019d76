// In charge of describing the two rostering token endpoints for the documentation.
import type { RouteShorthandOptions } from 'fastify';
import { Type } from 'typebox';

const response = {
  200: Type.Object({ access_token: Type.String(), token_type: Type.Literal('Bearer'), expires_in: Type.Integer(), scope: Type.Optional(Type.String()) }),
  '4xx': Type.Object({ error: Type.String(), error_description: Type.String() }),
};

export function describeRosteringToken(variant: 'A' | 'B'): RouteShorthandOptions {
  return {
    schema: {
      summary: 'Obtain a token',
      operationId: `getToken_${variant}`,
      tags: [`Variant ${variant}: token`],
      security: [{ [`variant${variant}Client`]: [] }],
      response,
    },
  };
}
