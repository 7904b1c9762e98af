export { StackError, type StackErrorCode } from './errors.ts';
export type { S3Endpoint } from './endpoints.ts';
export type { Stack } from './running-stack.ts';
export { SERVICE_NAMES, type ServiceName } from './service-names.ts';
export { startStack, type StartStackOptions } from './stack.ts';
