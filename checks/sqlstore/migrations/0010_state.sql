-- The state of the check as JSON; see checkrow.go. It counts if its revision is that of the row. Servers of the version before
-- read and write the other columns, which are written too for as long as such servers may run.
ALTER TABLE rollcall_states ADD COLUMN state TEXT;
