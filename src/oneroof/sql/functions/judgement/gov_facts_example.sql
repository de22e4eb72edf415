-- The facts of an ordinary covered object: every field that a predicate may name. A new rule is tried on it, and a case of
-- `rules test` leaves out what is as here.
CREATE OR REPLACE FUNCTION oneroof.gov_facts_example() RETURNS jsonb
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT '{
    "source": "birth_registry", "class": "orders", "grain": "governed",
    "row": {"collection_name": "orders", "status": "born", "species_code": "SPC-01", "governance_role": "container",
            "certified": "true", "actor_ref": "host", "source_system": "birth_gate"},
    "collection": {"registered": true, "coverage_status": "BIRTH_REQUIRED", "coverage_scope_status": "IN_SCOPE",
                   "coverage_exemption_reason": null, "coverage_review_owner": "GOV-SIV"},
    "inventory": {"cataloged": true, "missing": false},
    "owners": {"known": true, "policy": 1, "health": 1, "execution": 1, "render": 1, "approval": 1, "audit": 1,
               "conflict": false, "unknown": 0},
    "exception": "none",
    "state": {"born": true, "gone": false, "vanished": false, "duplicate": false, "failed": "none", "trusted": true,
              "quarantined": false, "reborn": false}
  }'::jsonb
$$;
