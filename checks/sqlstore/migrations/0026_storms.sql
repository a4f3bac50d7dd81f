-- When the alerts of a project leave together: the number of checks, and the window in seconds. NULL is the default.
ALTER TABLE rollcall_projects ADD COLUMN storm_checks BIGINT;
ALTER TABLE rollcall_projects ADD COLUMN storm_window BIGINT;
-- The first of the deliveries that one message stands for, or NULL for one that is sent alone.
ALTER TABLE rollcall_deliveries ADD COLUMN batch BIGINT;
