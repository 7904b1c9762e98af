-- Refused uses of an identity, under whatever business key, and refused claims of the versions that an operation took.
ALTER TABLE conflict_audit
  ADD KEY operation (tenant_no, operation_type_no, operation_id, aggregate_id),
  ADD KEY first_operation (aggregate_id, first_operation);
