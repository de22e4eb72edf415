DELETE FROM public.governance_worker_policy WHERE worker_name IN ('gov_input_gate', 'gov_candidate_scan');
DROP TABLE public.governance_certificate, public.governance_verdict_history, public.governance_class_finding, public.governance_ledger, public.governance_duplicate, public.governance_object, public.governance_class, public.governance_fact_set;
