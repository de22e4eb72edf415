-- The books follow the candidates, under every role.
CREATE OR REPLACE TRIGGER governance_ledger_insert AFTER INSERT ON oneroof.governance_candidate_state
REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION oneroof.gov_ledger_move();
CREATE OR REPLACE TRIGGER governance_ledger_update AFTER UPDATE ON oneroof.governance_candidate_state
REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION oneroof.gov_ledger_move();
CREATE OR REPLACE TRIGGER governance_ledger_delete AFTER DELETE ON oneroof.governance_candidate_state
REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION oneroof.gov_ledger_move();
CREATE OR REPLACE TRIGGER governance_ledger_truncate AFTER TRUNCATE ON oneroof.governance_candidate_state
FOR EACH STATEMENT EXECUTE FUNCTION oneroof.gov_ledger_move();
