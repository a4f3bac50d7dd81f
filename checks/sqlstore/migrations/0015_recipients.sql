-- The recipient that a delivery is for alone, or '', and the delivery that it was handed over from. Each recipient has a line
-- of its own; servers of the version before keep all in one.
ALTER TABLE rollcall_deliveries ADD COLUMN recipient TEXT NOT NULL DEFAULT '';
ALTER TABLE rollcall_deliveries ADD COLUMN origin BIGINT NOT NULL DEFAULT 0;
