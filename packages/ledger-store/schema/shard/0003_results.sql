-- Published results. Up to published_offset every result was acknowledged by the results topic; those of later messages are derived again
-- from the log and the stored rows after a crash.
ALTER TABLE applied_offset ADD COLUMN published_offset BIGINT NOT NULL DEFAULT 0;
UPDATE applied_offset SET published_offset = next_offset;

-- Results that do not stand at their own message's place in the log: those of commands that waited. They follow the result of the message
-- at cause_offset, or with phase 0 precede it. A row goes once its result was acknowledged.
CREATE TABLE outbox (
  topic         VARBINARY(249) NOT NULL,
  partition_no  INT UNSIGNED NOT NULL,
  source_offset BIGINT NOT NULL,
  cause_offset  BIGINT NOT NULL,
  phase         TINYINT UNSIGNED NOT NULL,
  seq           INT UNSIGNED NOT NULL,
  result_key    MEDIUMBLOB NULL,
  result        MEDIUMBLOB NOT NULL,
  PRIMARY KEY (topic, partition_no, source_offset),
  KEY place (topic, partition_no, cause_offset, phase, seq)
) ENGINE = InnoDB;
