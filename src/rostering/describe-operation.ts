// In charge of describing an operation for the documentation, from the tables that also run it.
import type { RouteShorthandOptions } from 'fastify';
import type { OneRosterScope } from '../access/scopes.ts';
import type { DescribeErrors } from '../http/describe-errors.ts';
import { createErrorsOf, describeAnswers } from './describe-answers.ts';
import { describePath, describeQuery, requestHeaders } from './describe-parameters.ts';
import { explain, summarise } from './describe-words.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { Operation } from './operations.ts';

/** Behind the variant, the operation's tag. */
const groups: Readonly<Record<OneRosterScope, string>> = { core: 'records', roster: 'what belongs to a record', demographics: 'demographics' };

export function createDescribeOperation(dialect: Dialect): (operation: Operation) => RouteShorthandOptions {
  const describeErrors = createErrorsOf(dialect);
  return (operation) => describeOperation(operation, dialect, describeErrors);
}

function describeOperation(operation: Operation, dialect: Dialect, describeErrors: DescribeErrors): RouteShorthandOptions {
  const params = describePath(operation);
  return {
    schema: {
      summary: summarise(operation),
      description: explain(operation, dialect),
      operationId: `${operation.name}_${dialect.suffix}`,
      tags: [`${dialect.title}: ${groups[operation.scope]}`],
      security: [{ [dialect.credential]: [] }],
      querystring: describeQuery(operation, dialect),
      headers: requestHeaders,
      ...(params ? { params } : {}),
      response: describeAnswers(operation, dialect, describeErrors),
    },
    // The dialect's own reader checks the query, with the dialect's words, and the body is made of rendered records.
    validatorCompiler: () => () => true,
    serializerCompiler: () => (data) => JSON.stringify(data),
  };
}
