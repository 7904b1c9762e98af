-- One shard's ledger. Names are interned small integers, ids VARBINARY (a text collation would make 'op-1' equal 'op-1 '),
-- times BIGINT microseconds since 1970 UTC, money BIGINT minor units, digests BINARY(32).

-- Which system and which shard of it this database is, written once at birth: numbers interned by another control schema mean other names.
CREATE TABLE shard_identity (
  only_row  TINYINT UNSIGNED NOT NULL DEFAULT 1,
  system_id BINARY(16) NOT NULL,
  shard_no  SMALLINT UNSIGNED NOT NULL,
  PRIMARY KEY (only_row)
) ENGINE = InnoDB;

-- The fence of RTE-2: every adjudication locks the rows of its buckets FOR SHARE; a move freezes a row under an exclusive lock.
CREATE TABLE owned_bucket (
  bucket   SMALLINT UNSIGNED NOT NULL,
  epoch    BIGINT UNSIGNED NOT NULL,
  state    ENUM('ACTIVE', 'FROZEN', 'GONE') NOT NULL,
  hot_from SMALLINT UNSIGNED NOT NULL DEFAULT 0,
  PRIMARY KEY (bucket)
) ENGINE = InnoDB;

CREATE TABLE contract (
  operation_type_no SMALLINT UNSIGNED NOT NULL,
  contract_version  SMALLINT UNSIGNED NOT NULL,
  definition        JSON NOT NULL,
  definition_digest BINARY(32) NOT NULL,
  registered_at     BIGINT NOT NULL,
  PRIMARY KEY (operation_type_no, contract_version)
) ENGINE = InnoDB;

-- The truth about this shard's offsets (ADJ-8), with exact tallies of the verdicts given up to next_offset.
CREATE TABLE applied_offset (
  topic           VARBINARY(249) NOT NULL,
  partition_no    INT UNSIGNED NOT NULL,
  next_offset     BIGINT NOT NULL,
  last_digest     BINARY(32) NULL,
  applied_count   BIGINT NOT NULL DEFAULT 0,
  duplicate_count BIGINT NOT NULL DEFAULT 0,
  conflict_count  BIGINT NOT NULL DEFAULT 0,
  rejected_count  BIGINT NOT NULL DEFAULT 0,
  parked_count    BIGINT NOT NULL DEFAULT 0,
  updated_at      BIGINT NOT NULL,
  PRIMARY KEY (topic, partition_no)
) ENGINE = InnoDB;

-- aggregate_id is a hash of tenant and business key; the names stand beside it and are compared at every read.
CREATE TABLE account (
  aggregate_id    BINARY(16) NOT NULL,
  currency        BINARY(3) NOT NULL,
  tenant_no       MEDIUMINT UNSIGNED NOT NULL,
  business_key    VARBINARY(128) NOT NULL,
  bucket          SMALLINT UNSIGNED NOT NULL,
  version         BIGINT NOT NULL,
  balance         BIGINT NOT NULL,
  overdraft_limit BIGINT NOT NULL,
  PRIMARY KEY (aggregate_id, currency),
  KEY bucket (bucket)
) ENGINE = InnoDB;

-- The permanent judge (IDN-2, RET-1). An applied row is its posting too: amount on the account, minus amount on the bucket's external account.
CREATE TABLE operation (
  tenant_no         MEDIUMINT UNSIGNED NOT NULL,
  operation_type_no SMALLINT UNSIGNED NOT NULL,
  operation_id      VARBINARY(129) NOT NULL,
  aggregate_id      BINARY(16) NOT NULL,
  contract_version  SMALLINT UNSIGNED NOT NULL,
  verdict           TINYINT UNSIGNED NOT NULL,
  reason            TINYINT UNSIGNED NOT NULL,
  bucket            SMALLINT UNSIGNED NOT NULL,
  intent_digest     BINARY(32) NOT NULL,
  currency          BINARY(3) NULL,
  amount            BIGINT NOT NULL,
  account_version   BIGINT NOT NULL,
  balance_after     BIGINT NOT NULL,
  committed_at      BIGINT NOT NULL,
  PRIMARY KEY (tenant_no, operation_type_no, operation_id, aggregate_id),
  KEY history (aggregate_id, currency, account_version)
) ENGINE = InnoDB;

-- An operation is reversed at most once: the target is the key.
CREATE TABLE reversal (
  tenant_no                MEDIUMINT UNSIGNED NOT NULL,
  target_operation_type_no SMALLINT UNSIGNED NOT NULL,
  target_operation_id      VARBINARY(129) NOT NULL,
  aggregate_id             BINARY(16) NOT NULL,
  operation_type_no        SMALLINT UNSIGNED NOT NULL,
  operation_id             VARBINARY(129) NOT NULL,
  PRIMARY KEY (tenant_no, target_operation_type_no, target_operation_id, aggregate_id)
) ENGINE = InnoDB;

-- Postings of contracts judged by event; all others are part of their operation row.
CREATE TABLE posting (
  aggregate_id    BINARY(16) NOT NULL,
  currency        BINARY(3) NOT NULL,
  account_version BIGINT NOT NULL,
  tenant_no       MEDIUMINT UNSIGNED NOT NULL,
  consumer_no     SMALLINT UNSIGNED NOT NULL,
  event_id        VARBINARY(129) NOT NULL,
  bucket          SMALLINT UNSIGNED NOT NULL,
  amount          BIGINT NOT NULL,
  balance_after   BIGINT NOT NULL,
  committed_at    BIGINT NOT NULL,
  PRIMARY KEY (aggregate_id, currency, account_version)
) ENGINE = InnoDB;

-- Judge of contracts judged by event, evidence for the others. event_day is a pure function of an id that carries its time (RTE-3).
CREATE TABLE inbox (
  tenant_no         MEDIUMINT UNSIGNED NOT NULL,
  consumer_no       SMALLINT UNSIGNED NOT NULL,
  event_id          VARBINARY(129) NOT NULL,
  aggregate_id      BINARY(16) NOT NULL,
  event_day         SMALLINT UNSIGNED NOT NULL,
  contract_version  SMALLINT UNSIGNED NOT NULL,
  verdict           TINYINT UNSIGNED NOT NULL,
  reason            TINYINT UNSIGNED NOT NULL,
  bucket            SMALLINT UNSIGNED NOT NULL,
  operation_type_no SMALLINT UNSIGNED NOT NULL,
  operation_id      VARBINARY(129) NULL,
  payload_digest    BINARY(32) NULL,
  currency          BINARY(3) NULL,
  amount            BIGINT NULL,
  account_version   BIGINT NULL,
  balance_after     BIGINT NULL,
  source_offset     BIGINT NULL,
  processed_at      BIGINT NOT NULL,
  PRIMARY KEY (tenant_no, consumer_no, event_id, aggregate_id, event_day),
  CONSTRAINT event_day_of_id CHECK (
    ORD(event_id) NOT IN (1, 2) OR event_day = CONV(HEX(SUBSTR(event_id, 2, 6)), 16, 10) DIV 86400000
  )
) ENGINE = InnoDB;

-- Same identity, other intent (IDN-6), or one event id for two operations. Seen again, the row counts and keeps its first position.
CREATE TABLE conflict_audit (
  id                     BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  kind                   ENUM('CONFLICT', 'EVENT_REUSED') NOT NULL,
  tenant_no              MEDIUMINT UNSIGNED NOT NULL,
  consumer_no            SMALLINT UNSIGNED NOT NULL,
  aggregate_id           BINARY(16) NOT NULL,
  event_id               VARBINARY(129) NOT NULL,
  digest                 BINARY(32) NOT NULL,
  operation_type_no      SMALLINT UNSIGNED NOT NULL,
  contract_version       SMALLINT UNSIGNED NOT NULL,
  operation_id           VARBINARY(129) NOT NULL,
  business_key           VARBINARY(128) NOT NULL,
  intent                 JSON NOT NULL,
  first_operation        VARBINARY(255) NULL,
  first_contract_version SMALLINT UNSIGNED NOT NULL,
  first_digest           BINARY(32) NULL,
  topic                  VARBINARY(249) NULL,
  partition_no           INT UNSIGNED NULL,
  source_offset          BIGINT NULL,
  recorded_at            BIGINT NOT NULL,
  last_seen_at           BIGINT NOT NULL,
  seen_count             BIGINT NOT NULL DEFAULT 1,
  PRIMARY KEY (id),
  UNIQUE KEY evidence (tenant_no, consumer_no, aggregate_id, event_id, operation_type_no, operation_id, digest, kind)
) ENGINE = InnoDB;

-- Messages that could not be adjudicated, with all that is needed to try again (ADJ-10).
CREATE TABLE parked (
  id            BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  topic         VARBINARY(249) NOT NULL,
  partition_no  INT UNSIGNED NOT NULL,
  source_offset BIGINT NOT NULL,
  record_digest BINARY(32) NOT NULL,
  state         ENUM('PARKED', 'REPLAYED', 'DISCARDED') NOT NULL DEFAULT 'PARKED',
  reason        VARBINARY(64) NOT NULL,
  detail        VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  tenant_id     VARBINARY(64) NULL,
  retryable     BOOLEAN NOT NULL,
  retry_at      BIGINT NULL,
  attempts      INT UNSIGNED NOT NULL DEFAULT 1,
  record_key    MEDIUMBLOB NULL,
  record_value  MEDIUMBLOB NULL,
  headers       MEDIUMBLOB NOT NULL,
  record_time   BIGINT NOT NULL,
  parked_at     BIGINT NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY source (topic, partition_no, source_offset, record_digest),
  KEY state_reason (state, reason, parked_at)
) ENGINE = InnoDB;
