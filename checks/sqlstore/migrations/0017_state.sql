-- The column state has the state of every check; see convert.go for what was in these.
ALTER TABLE rollcall_states DROP COLUMN status;
ALTER TABLE rollcall_states DROP COLUMN since;
ALTER TABLE rollcall_states DROP COLUMN last_ping;
ALTER TABLE rollcall_states DROP COLUMN last_start;
ALTER TABLE rollcall_states DROP COLUMN last_start_run;
ALTER TABLE rollcall_states DROP COLUMN runs;
ALTER TABLE rollcall_states DROP COLUMN alerting;
ALTER TABLE rollcall_states DROP COLUMN history;
