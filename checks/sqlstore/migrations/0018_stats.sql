-- The totals of days, and their times if the month is folded, as JSON; see months.go.
ALTER TABLE rollcall_months ADD COLUMN stats TEXT NOT NULL DEFAULT '';
