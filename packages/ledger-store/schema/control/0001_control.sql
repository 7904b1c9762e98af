-- Control schema: what all shards agree on. One database for the whole system.

CREATE TABLE setting (
  name  VARBINARY(64) NOT NULL,
  value VARBINARY(255) NOT NULL,
  PRIMARY KEY (name)
) ENGINE = InnoDB;

CREATE TABLE shard (
  shard_no SMALLINT UNSIGNED NOT NULL,
  name     VARBINARY(64) NOT NULL,
  PRIMARY KEY (shard_no),
  UNIQUE KEY name (name)
) ENGINE = InnoDB;

-- The shard map (RTE-1). Each shard's owned_bucket is the fence; this is the plan.
CREATE TABLE bucket_map (
  bucket   SMALLINT UNSIGNED NOT NULL,
  shard_no SMALLINT UNSIGNED NOT NULL,
  epoch    BIGINT UNSIGNED NOT NULL,
  state    ENUM('ACTIVE', 'FROZEN', 'GONE') NOT NULL,
  PRIMARY KEY (bucket)
) ENGINE = InnoDB;

-- Interned numbers: allocated once, never reused, never changed. Names are compared as bytes.
CREATE TABLE tenant (
  tenant_no MEDIUMINT UNSIGNED NOT NULL AUTO_INCREMENT,
  tenant_id VARBINARY(64) NOT NULL,
  PRIMARY KEY (tenant_no),
  UNIQUE KEY tenant_id (tenant_id)
) ENGINE = InnoDB;

CREATE TABLE operation_type (
  operation_type_no SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT,
  name              VARBINARY(64) NOT NULL,
  PRIMARY KEY (operation_type_no),
  UNIQUE KEY name (name)
) ENGINE = InnoDB;

CREATE TABLE consumer (
  consumer_no SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT,
  name        VARBINARY(64) NOT NULL,
  PRIMARY KEY (consumer_no),
  UNIQUE KEY name (name)
) ENGINE = InnoDB;
