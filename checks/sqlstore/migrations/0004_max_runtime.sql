-- How long a run may take, in seconds; 0 means as long as the grace time.
ALTER TABLE rollcall_checks ADD COLUMN max_runtime BIGINT NOT NULL DEFAULT 0;
