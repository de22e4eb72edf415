-- Keys and indexes of the replica, built once the data is in: what a host has that the tail can rely on
-- (doc 39 §39.4), and no unique key that the seeds do not name.

ALTER TABLE birth_registry ADD PRIMARY KEY (id);
CREATE INDEX birth_registry_born_at_id ON birth_registry (born_at, id);
CREATE INDEX birth_registry_collection_entity ON birth_registry (collection_name, entity_code);

ALTER TABLE registry_changelog ADD PRIMARY KEY (id);
CREATE INDEX registry_changelog_timestamp_id ON registry_changelog ("timestamp", id);

ALTER TABLE event_outbox ADD PRIMARY KEY (id);
CREATE INDEX event_outbox_occurred_at_id ON event_outbox (occurred_at, id);
CREATE INDEX event_outbox_created_at_id ON event_outbox (created_at, id);
CREATE INDEX event_read_event_actor ON event_read (event_id, actor_ref);

ALTER TABLE system_issues ADD PRIMARY KEY (id);
CREATE INDEX system_issues_coalesce_key ON system_issues (coalesce_key);

ALTER TABLE event_type_registry ADD PRIMARY KEY (event_domain, event_type);
ALTER TABLE event_pending ADD PRIMARY KEY (id);
ALTER TABLE event_subscription ADD PRIMARY KEY (id);
ALTER TABLE queue_heartbeat ADD PRIMARY KEY (executor_name);
ALTER TABLE job_queue ADD PRIMARY KEY (id);
ALTER TABLE evolution_snapshots ADD PRIMARY KEY (id);
ALTER TABLE approval_requests ADD PRIMARY KEY (id);
ALTER TABLE dot_config ADD PRIMARY KEY (key);
ALTER TABLE meta_catalog ADD PRIMARY KEY (id);
ALTER TABLE collection_registry ADD PRIMARY KEY (id);
ALTER TABLE measurement_registry ADD PRIMARY KEY (measurement_id);
ALTER TABLE derived_objects_registry ADD PRIMARY KEY (code);
ALTER TABLE information_unit ADD PRIMARY KEY (unit_id);
ALTER TABLE dot_tools ADD PRIMARY KEY (dot_code);
ALTER TABLE pivot_definitions ADD PRIMARY KEY (code);
ALTER TABLE binding_registry ADD PRIMARY KEY (code);
ALTER TABLE table_registry ADD PRIMARY KEY (code);
ALTER TABLE universal_rule_registry ADD PRIMARY KEY (code);
ALTER TABLE normative_registry ADD PRIMARY KEY (code);
ALTER TABLE law_jurisdiction ADD PRIMARY KEY (code);
ALTER TABLE iu_route_worker_cursor ADD PRIMARY KEY (worker_name);
ALTER TABLE iu_outbound_route ADD PRIMARY KEY (id);
ALTER TABLE iu_route_attempt ADD PRIMARY KEY (id);
ALTER TABLE iu_route_attempt ADD UNIQUE (idempotency_key, attempt_no);
