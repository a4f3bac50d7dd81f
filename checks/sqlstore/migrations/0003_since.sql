-- When the check last went up or down, or was paused or resumed; NULL before that. Pings received earlier do not change
-- the state.
ALTER TABLE rollcall_states ADD COLUMN since BIGINT;
