-- One row for every subject that ever had an exception: the best state it has now, for joining.
CREATE VIEW oneroof.v_exception_effective AS
SELECT DISTINCT ON (e.level, e.subject) e.level, e.subject, e.state, e.exception_id, e.reason, e.valid_to
FROM oneroof.v_exception AS e
ORDER BY e.level, e.subject, array_position(ARRAY['ratified', 'unratified', 'expired', 'revoked'], e.state), e.exception_id DESC;
