-- Sessions of the dashboard that were signed out. Their cookies would be valid until ends_at.
CREATE TABLE rollcall_ended_sessions (
    id      {UUID} PRIMARY KEY,
    ends_at BIGINT NOT NULL
);
CREATE INDEX rollcall_ended_sessions_end ON rollcall_ended_sessions (ends_at);
