-- Sequences stand behind the last row, and the planner knows the tables.

SELECT setval(pg_get_serial_sequence('birth_registry', 'id'), (SELECT count(*) FROM birth_registry) + 1, false),
       setval(pg_get_serial_sequence('registry_changelog', 'id'), (SELECT count(*) FROM registry_changelog) + 1, false),
       setval(pg_get_serial_sequence('system_issues', 'id'), (SELECT count(*) FROM system_issues) + 1, false);

ANALYZE birth_registry, registry_changelog, event_outbox, event_read, system_issues, event_type_registry,
        collection_registry, meta_catalog, measurement_registry, derived_objects_registry, information_unit, dot_tools,
        pivot_definitions, binding_registry, table_registry, universal_rule_registry, normative_registry,
        law_jurisdiction, iu_route_attempt, iu_outbound_route;
