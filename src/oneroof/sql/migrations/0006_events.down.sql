DELETE FROM public.governance_finding WHERE issue_type IN ('handoff_unregistered_type', 'issue_event_gap', 'direct_write', 'signal_refused');
DELETE FROM public.governance_finding_type WHERE issue_type IN ('handoff_unregistered_type', 'issue_event_gap', 'direct_write', 'signal_refused');
DROP TABLE public.governance_event_examined, public.governance_subscription, public.governance_event, public.governance_event_activation, public.governance_event_type;
DROP SEQUENCE public.governance_event_batch;
