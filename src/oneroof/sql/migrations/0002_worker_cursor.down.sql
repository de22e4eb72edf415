DROP TABLE governance_lease;
DROP TABLE governance_candidate_state;
DROP TABLE governance_open_row;
DROP TABLE gov_worker_cursor;
DROP TABLE governance_source;
