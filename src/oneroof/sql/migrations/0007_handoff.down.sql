DELETE FROM public.governance_finding WHERE issue_type IN ('handoff_lag', 'handoff_dlq', 'handoff_silent_gap');
DELETE FROM public.governance_finding_type WHERE issue_type IN ('handoff_lag', 'handoff_dlq', 'handoff_silent_gap');
DELETE FROM public.governance_source WHERE source_kind = 'register';
DROP TABLE public.governance_untold, public.governance_handoff, public.governance_group_mark, public.governance_register_row, public.governance_handoff_map;
