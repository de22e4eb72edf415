-- Monotone in the database, under every role.
CREATE OR REPLACE TRIGGER gov_worker_cursor_guard BEFORE UPDATE ON oneroof.gov_worker_cursor
FOR EACH ROW EXECUTE FUNCTION oneroof.gov_cursor_guard();
