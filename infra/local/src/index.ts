export { StackError, type StackErrorCode } from './errors.ts';
export type { S3Endpoint } from './endpoints.ts';
export { SERVICE_NAMES, type ServiceName } from './service-names.ts';
export { type Stack, startStack, type StartStackOptions } from './stack.ts';
