-- Monotone in the database, whoever writes.
CREATE OR REPLACE TRIGGER gov_worker_cursor_guard BEFORE UPDATE ON public.gov_worker_cursor
FOR EACH ROW EXECUTE FUNCTION public.gov_cursor_guard();
