DELETE FROM public.governance_worker_policy WHERE worker_name IN ('gov_input_gate', 'gov_candidate_scan', 'gov_periodic_full_audit');
DROP TABLE public.governance_vanishing, public.governance_audit_bucket, public.governance_verdict_history, public.governance_ledger, public.governance_duplicate, public.governance_object, public.governance_class, public.governance_fact_set;
