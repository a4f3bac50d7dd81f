-- Values that end, such as leases and the ends of sessions. Those that never end have no ends_at.
ALTER TABLE rollcall_settings ADD COLUMN ends_at BIGINT;
