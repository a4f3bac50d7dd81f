-- The clock of an outage as JSON, of flips that are down and wait for steps of an escalation policy; see gate.Clock.
ALTER TABLE rollcall_flips ADD COLUMN clock TEXT;
