-- What operators did with parked messages, for ever.
CREATE TABLE parked_action (
  id             BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  parked_id      BIGINT UNSIGNED NOT NULL,
  action         ENUM('REPLAYED', 'DISCARDED') NOT NULL,
  actor          VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  reason         VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  topic          VARBINARY(249) NULL,
  partition_no   INT UNSIGNED NULL,
  replayed_offset BIGINT NULL,
  done_at        BIGINT NOT NULL,
  PRIMARY KEY (id),
  KEY parked_id (parked_id)
) ENGINE = InnoDB;
