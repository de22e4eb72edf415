DROP TABLE public.governance_lease;
DROP TABLE public.governance_candidate_state;
DROP TABLE public.governance_open_row;
DROP TABLE public.gov_worker_cursor;
DROP TABLE public.governance_source;
