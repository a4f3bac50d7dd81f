-- How far the servers with a spool have come: a row for each run of a server. recorded is the number of its last ping that
-- is in the database. All pings that it received before settled_at are.
CREATE TABLE rollcall_spools (
    id            {UUID} PRIMARY KEY,
    spool_id      {UUID} NOT NULL,
    recorded      BIGINT NOT NULL DEFAULT 0,
    settled_at    BIGINT NOT NULL,
    seen_at       BIGINT NOT NULL,
    missing_since BIGINT
) {HOT};
