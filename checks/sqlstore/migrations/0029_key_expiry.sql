-- When an API key ends, or NULL if it never does.
ALTER TABLE rollcall_keys ADD COLUMN expires_at BIGINT;
