-- When an API key ends, or NULL if it never does.
ALTER TABLE rollcall_keys ADD COLUMN expires_at BIGINT;
CREATE INDEX rollcall_keys_expiry ON rollcall_keys (expires_at) WHERE expires_at IS NOT NULL;
