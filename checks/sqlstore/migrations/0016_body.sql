-- How many bytes of a ping's body were left out after its first half, and the character set of its text.
ALTER TABLE rollcall_pings ADD COLUMN body_cut BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollcall_pings ADD COLUMN body_charset TEXT NOT NULL DEFAULT '';
