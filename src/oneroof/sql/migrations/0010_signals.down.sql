DROP TABLE oneroof.governance_subscription;
DROP TABLE oneroof.governance_event_examined;
DROP TABLE oneroof.governance_event;
DROP SEQUENCE oneroof.governance_event_batch;
DROP TABLE oneroof.governance_event_activation;
DROP TABLE oneroof.governance_event_type;
