-- A tenant-wide identity belongs to one business key and one intent (RTE-2). The row stands in the shard of the identity's home bucket.
CREATE TABLE binding (
  tenant_no         MEDIUMINT UNSIGNED NOT NULL,
  operation_type_no SMALLINT UNSIGNED NOT NULL,
  operation_id      VARBINARY(129) NOT NULL,
  contract_version  SMALLINT UNSIGNED NOT NULL,
  business_key      VARBINARY(128) NOT NULL,
  intent_digest     BINARY(32) NOT NULL,
  home_bucket       SMALLINT UNSIGNED NOT NULL,
  bound_at          BIGINT NOT NULL,
  PRIMARY KEY (tenant_no, operation_type_no, operation_id),
  KEY home_bucket (home_bucket)
) ENGINE = InnoDB;
