-- The column stats has what was in this one; see convert.go.
ALTER TABLE rollcall_months DROP COLUMN days;
