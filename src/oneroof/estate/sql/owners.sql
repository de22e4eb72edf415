-- Two of every three collections in the order of their codes. The responsibilities are mostly with the offices that docs 31
-- and 32 name for them, execution and health of some collections with a person. The fourth has two owners for its policy,
-- the fifth owners for two responsibilities only.
WITH numbered AS (
    SELECT collection_name, row_number() OVER (ORDER BY code COLLATE "C") AS n FROM collection_registry
), answering (responsibility, ordinal, owner) AS (
    VALUES ('policy', 1, 'GOV-COUNCIL'), ('health', 2, 'GOV-SIV'), ('execution', 3, 'GOV-DOT'),
           ('render', 4, 'GOV-MOUT'), ('approval', 5, 'DIEU-32'), ('audit', 6, 'GOV-SIV')
), owned AS (
    SELECT n, ordinal, collection_name, responsibility,
           CASE WHEN responsibility = 'execution' AND mod(n, 5) = 0 THEN 'requester'
                WHEN responsibility = 'health' AND mod(n, 7) = 0 THEN 'approver'
                ELSE owner END AS owner
    FROM numbered CROSS JOIN answering
    WHERE mod(n, 3) <> 0 AND (n <> 5 OR ordinal <= 2)
    UNION ALL
    SELECT n, 1, collection_name, 'policy', 'GOV-SIV' FROM numbered WHERE n = 4
)
SELECT 'collection', collection_name, responsibility, owner FROM owned ORDER BY n, ordinal, owner COLLATE "C"
