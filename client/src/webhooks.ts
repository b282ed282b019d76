// In charge of what the package offers to receivers of webhooks.
export { createCallbacks, type Callbacks } from './callbacks.ts';
export { SchoolbellError } from './errors.ts';
export type * from './webhooks/event.ts';
export { fastifyPlugin, type FastifyLike } from './webhooks/fastify-plugin.ts';
export { fetchHandler } from './webhooks/fetch-handler.ts';
export { nodeHandler, nodeHandler as expressHandler, type NodeRequest, type NodeResponse } from './webhooks/node-handler.ts';
export type { HandlerOptions } from './webhooks/receive.ts';
export { verify, type VerifyOptions, type WebhookHeaders } from './webhooks/verify.ts';
