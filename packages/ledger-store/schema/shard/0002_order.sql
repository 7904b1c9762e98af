-- Contracts with an order (ORD-1 to ORD-4).

-- The last version that a business key has taken. Every transaction that judges an ordered command of the key locks the row.
CREATE TABLE sequence_head (
  aggregate_id     BINARY(16) NOT NULL,
  tenant_no        MEDIUMINT UNSIGNED NOT NULL,
  business_key     VARBINARY(128) NOT NULL,
  bucket           SMALLINT UNSIGNED NOT NULL,
  version          BIGINT NOT NULL,
  gap_requests     INT UNSIGNED NOT NULL DEFAULT 0,
  gap_requested_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (aggregate_id)
) ENGINE = InnoDB;

-- Who took which version: no version is taken twice. `identity` is the operation's id, or the event's where the event judges.
CREATE TABLE sequence_step (
  aggregate_id      BINARY(16) NOT NULL,
  version           BIGINT NOT NULL,
  operation_type_no SMALLINT UNSIGNED NOT NULL,
  identity          VARBINARY(129) NOT NULL,
  PRIMARY KEY (aggregate_id, version)
) ENGINE = InnoDB;

-- Commands ahead of their key, with all that is needed to judge them when their turn comes (ORD-2). An event id used for two operations, or
-- for two intents, is two commands; operation_id is empty where the event judges.
CREATE TABLE deferred (
  aggregate_id      BINARY(16) NOT NULL,
  version           BIGINT NOT NULL,
  consumer_no       SMALLINT UNSIGNED NOT NULL,
  event_id          VARBINARY(129) NOT NULL,
  tenant_no         MEDIUMINT UNSIGNED NOT NULL,
  operation_type_no SMALLINT UNSIGNED NOT NULL,
  contract_version  SMALLINT UNSIGNED NOT NULL,
  operation_id      VARBINARY(129) NOT NULL,
  digest            BINARY(32) NOT NULL,
  bucket            SMALLINT UNSIGNED NOT NULL,
  event_day         SMALLINT UNSIGNED NOT NULL,
  topic             VARBINARY(249) NOT NULL,
  partition_no      INT UNSIGNED NOT NULL,
  source_offset     BIGINT NOT NULL,
  record_key        MEDIUMBLOB NULL,
  record_value      MEDIUMBLOB NULL,
  headers           MEDIUMBLOB NOT NULL,
  record_time       BIGINT NOT NULL,
  deferred_at       BIGINT NOT NULL,
  PRIMARY KEY (aggregate_id, version, consumer_no, event_id, operation_id, digest),
  KEY source (topic, partition_no, source_offset),
  KEY age (bucket, deferred_at),
  KEY event_day (event_day)
) ENGINE = InnoDB;

-- Messages that wait are counted as deferred until they get their verdict, so the counts always sum up to the messages passed.
ALTER TABLE applied_offset
  ADD COLUMN deferred_count BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN stale_count BIGINT NOT NULL DEFAULT 0;

-- The version of the snapshot that set an account's limit.
ALTER TABLE account ADD COLUMN limit_version BIGINT NOT NULL DEFAULT 0;

-- An operation that took another's version has no digest to compare with.
ALTER TABLE conflict_audit MODIFY COLUMN first_contract_version SMALLINT UNSIGNED NULL;
