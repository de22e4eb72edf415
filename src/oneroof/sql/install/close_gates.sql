-- No gate that we opened stays open in dot_config when we are gone.
UPDATE public.dot_config SET value = 'false', updated_at = now()
WHERE key IN (SELECT gate_key FROM public.governance_gate_opening WHERE closed_at IS NULL) AND value IS DISTINCT FROM 'false';
