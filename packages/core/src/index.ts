export { type Adjudication, type AdjudicationContext, adjudicate } from './adjudicate.ts'
export { type Command, type CommandInput, createCommand, digestUnderVersion } from './command.ts'
export {
  type Contract,
  type ContractRegistry,
  createContractRegistry,
  describeContract,
  type Effect,
  type RejectionPolicy,
  type RejectionReason,
} from './contract.ts'
export { MONEY_CONTRACTS } from './contracts/money.ts'
export { type Intent, intentDigest } from './digest.ts'
export { type Decoded, type DecodeOptions, decodeRecord } from './envelope/decode.ts'
export { commandSchema } from './envelope/schema.ts'
export { type CommandToSend, type EncodedCommand, encodeCommand } from './envelope/encode.ts'
export { Bug, CorruptData, InvalidCommand } from './errors.ts'
export {
  type AggregateId,
  aggregateIdOf,
  BUSINESS_KEY_BYTES_MAX,
  type BusinessKey,
  type EventId,
  externalKeyOf,
  ID_BYTES_MAX,
  type IdKind,
  idFromBytes,
  idKindOf,
  idTimeMsOfHex,
  idToHex,
  type OperationId,
  parseBusinessKey,
  parseEventId,
  parseOperationId,
  parseTenantId,
  routingKey,
  TENANT_ID_BYTES_MAX,
  type TenantId,
} from './identity.ts'
export { accountKey, eventKey, eventKeyOf, operationKey, operationKeyOf, operationReference } from './keys.ts'
export { fitsMinorUnits, MINOR_UNITS_MAX } from './money.ts'
export { recordDigest, type SourcePosition, type SourceRecord } from './record.ts'
export { type AccountOwner, externalOwnerOf } from './sheet.ts'
export type { AccountState, LedgerState, StoredEvent, StoredOperation } from './state.ts'
export { dayOfMs, dayToIso, MS_PER_DAY } from './time.ts'
export type { FirstResult, Judgement, Verdict } from './verdict.ts'
export type {
  AccountWrite,
  AuditWrite,
  BatchWrites,
  EventWrite,
  OperationWrite,
  ParkedWrite,
  PostingWrite,
  ReversalWrite,
} from './writes.ts'
