-- The state of the check as JSON; see checkrow.go. Without it, the other columns have the state: a check moves to this column
-- when it next changes. From then on its status is -1.
ALTER TABLE rollcall_states ADD COLUMN state TEXT;
