-- What lists of checks select and sort by, beside the settings; see lists.go. All follows from the check: status is its stored
-- status, status_at since when, slow_at when its last run ended if that was slow, or 0. sort_name is its name as lists sort
-- it, and search the texts in which searches look.
ALTER TABLE rollcall_checks ADD COLUMN status SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE rollcall_checks ADD COLUMN status_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollcall_checks ADD COLUMN slow_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollcall_checks ADD COLUMN sort_name TEXT{BYTEWISE} NOT NULL DEFAULT '';
ALTER TABLE rollcall_checks ADD COLUMN search TEXT{BYTEWISE} NOT NULL DEFAULT '';
-- The last success or failure, when the next ping is expected, and when the check goes down without one. Every ping writes
-- them, so they have no index.
ALTER TABLE rollcall_states ADD COLUMN last_at BIGINT;
ALTER TABLE rollcall_states ADD COLUMN next_at BIGINT;
ALTER TABLE rollcall_states ADD COLUMN down_at BIGINT;
