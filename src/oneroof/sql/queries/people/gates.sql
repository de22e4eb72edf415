-- listing --
SELECT gate_key, description, is_open, state, request_id, requested_by, approved_by, opened_at
FROM oneroof.v_gate_state ORDER BY gate_key

-- close --
SELECT oneroof.gov_gate_close(%(gate)s::text, %(reason)s::text)

-- is_open --
SELECT oneroof.gov_gate_is_open(%(gate)s::text)
