-- A check that never alerts, and the slugs or IDs of the checks that a check follows, with commas between them.
ALTER TABLE rollcall_checks ADD COLUMN record_only BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE rollcall_checks ADD COLUMN after TEXT NOT NULL DEFAULT '';
CREATE INDEX rollcall_checks_after ON rollcall_checks (project_id) WHERE after <> '';
