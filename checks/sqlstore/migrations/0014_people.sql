-- Documents of what surrounds checks: people, their sessions, one-time links, keys of the installation. A kind and a key name
-- one; the owner groups those that go together. Those that never end have no ends_at.
CREATE TABLE rollcall_records (
    id      {ID},
    kind    TEXT NOT NULL,
    key     TEXT NOT NULL,
    owner   {UUID} NOT NULL,
    value   TEXT NOT NULL,
    ends_at BIGINT,
    UNIQUE (kind, key)
);
CREATE INDEX rollcall_records_owner ON rollcall_records (owner);
CREATE INDEX rollcall_records_end ON rollcall_records (ends_at);
-- Who changed what. Entries outlive the projects, checks and people that they name.
CREATE TABLE rollcall_audit (
    id         {ID},
    at         BIGINT NOT NULL,
    actor      TEXT NOT NULL,
    project_id {UUID} NOT NULL,
    check_id   {UUID} NOT NULL,
    action     TEXT NOT NULL,
    object     TEXT NOT NULL,
    changes    TEXT NOT NULL
);
CREATE INDEX rollcall_audit_at ON rollcall_audit (at);
CREATE INDEX rollcall_audit_project ON rollcall_audit (project_id, id);
CREATE INDEX rollcall_audit_check ON rollcall_audit (check_id, id);
-- What a key allows beyond read_only: '' for the two kinds that the specification knows.
ALTER TABLE rollcall_keys ADD COLUMN scope TEXT NOT NULL DEFAULT '';
