export { type Adjudication, type AdjudicationContext, adjudicate, type Decision } from './adjudicate.ts'
export { type Command, type CommandInput, createCommand, digestUnderVersion } from './command.ts'
export {
  type Contract,
  type ContractRegistry,
  createContractRegistry,
  describeContract,
  type Effect,
  type RejectionPolicy,
  type RejectionReason,
  type SequenceRules,
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
export {
  accountKey,
  bindingKey,
  deferredKeyOf,
  eventKey,
  eventKeyOf,
  operationKey,
  operationKeyOf,
  operationReference,
  stepKey,
} from './keys.ts'
export { fitsMinorUnits, MINOR_UNITS_MAX } from './money.ts'
export { recordDigest, type SourcePosition, type SourceRecord } from './record.ts'
export { type Answer, type EncodedResult, encodeResult, gapsTopicOf, resultsTopicOf, usToIso } from './result.ts'
export { type AccountOwner, externalOwnerOf } from './sheet.ts'
export { EMPTY_STATE } from './state.ts'
export type { AccountState, LedgerState, StoredBinding, StoredDeferred, StoredEvent, StoredOperation } from './state.ts'
export { dayOfMs, dayToIso, MS_PER_DAY } from './time.ts'
export type { EventReason, FirstResult, Judgement, RecordedVerdict, Verdict } from './verdict.ts'
export type {
  AccountWrite,
  AuditWrite,
  BatchWrites,
  BindingWrite,
  DeferralWrite,
  EventWrite,
  OperationWrite,
  ParkedWrite,
  PostingWrite,
  ReversalWrite,
  SequenceWrite,
  StepWrite,
} from './writes.ts'
