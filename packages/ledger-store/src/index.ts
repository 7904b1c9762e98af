export { type Adjudicator, type AdjudicatorObserver, type AdjudicatorOptions, createAdjudicator } from './adjudicator.ts'
export {
  type Batch,
  type BatchItem,
  type BatchOutcome,
  type BatchSource,
  commandsOf,
  type Published,
  type PublishedResults,
} from './batch.ts'
export { type BatchContext, NO_FAILPOINTS, STORE_FAILPOINTS, type StoreFailpoint, type StoreFailpoints } from './batch-transaction.ts'
export {
  BINDING_FAILPOINTS,
  type BindingDesk,
  type BindingDeskOptions,
  type BindingFailpoint,
  openBindingDesk,
} from './binding-desk.ts'
export { registerContracts } from './contract-store.ts'
export {
  assertShardIdentity,
  claimBuckets,
  foundSystem,
  loadFoundation,
  loadOwnedBuckets,
  loadShardMap,
  type SystemFoundation,
} from './control.ts'
export { createDatabase, defaultControlUrl, withDatabase } from './create-database.ts'
export { checkDurability } from './durability.ts'
export { StoreMisconfigured, StoreUnavailable } from './errors.ts'
export { isDatabaseFault } from './fault.ts'
export { type FoundedLedger, foundLedger, type FoundLedgerOptions } from './found.ts'
export { type DeriveContext, type DerivedResult, type DerivedResults, deriveResults, loadOutbox } from './derive-results.ts'
export { assertMigrated, loadMigrations, migrate, type Migration, type SchemaKind } from './migrate.ts'
export { findTenantNo, loadTenantIds, type Names, openNames } from './names.ts'
export { loadAppliedOffset, loadProgress, type PartitionProgress, resetOffset } from './offsets.ts'
export { discardParked, markReplayed, type OperatorAction, type ReplayPlace } from './parked-actions.ts'
export { openShardDatabase, type Row, type Session, type ShardDatabase, type ShardDatabaseOptions } from './session.ts'
export { ATTEMPTS_HEADER } from './sql/evidence.ts'
export type { AppliedOffset } from './sql/fence.ts'
export { type PartitionToSweep, type SweepOutcome, sweepPartition } from './sweep.ts'
export { NO_TALLY } from './tally.ts'
export { type BatchStatements, batchStatements, type BatchToWrite } from './write-batch.ts'
export { type AccountBalance, type AccountPosting, type LedgerFigures, loadBalances, loadFigures, loadPostings } from './queries/figures.ts'
export { type CheckedFigures, checkLedger, type LedgerFinding, type LedgerFindings } from './queries/check.ts'
export {
  countGaps,
  type GapCounts,
  type GapFilter,
  type GapView,
  loadGaps,
  markGapRequested,
  missingRanges,
  type VersionRange,
} from './queries/gaps.ts'
export {
  countParked,
  countParkedBy,
  findParked,
  groupParked,
  listParked,
  PARKED_STATES,
  type ParkedAction,
  type ParkedFilter,
  type ParkedGroup,
  type ParkedMessage,
  type ParkedState,
  type ParkedView,
} from './queries/parked.ts'
export {
  type AccountPoint,
  type AccountView,
  findAccounts,
  findSequence,
  type HistoryOptions,
  type PostingView,
  type SequenceView,
} from './queries/account-history.ts'
export {
  type AuditSubject,
  type AuditView,
  type BindingView,
  findAudits,
  findBinding,
  findReversal,
  findWaiting,
  type ReversalView,
  type WaitingView,
} from './queries/audits.ts'
export { type AggregateName, type EventView, findEvents, findOperation, type OperationView } from './queries/show.ts'
