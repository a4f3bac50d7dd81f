-- Maintenance windows and snoozes. definition is the JSON of a gate.Window; ends_at is when its last occurrence ends, or NULL if it
-- recurs without an end.
CREATE TABLE rollcall_windows (
    id          {UUID} PRIMARY KEY,
    project_id  {UUID} NOT NULL REFERENCES rollcall_projects (id) ON DELETE CASCADE,
    kind        TEXT NOT NULL,
    starts_at   BIGINT NOT NULL,
    ends_at     BIGINT,
    definition  TEXT NOT NULL
);
CREATE INDEX rollcall_windows_project ON rollcall_windows (project_id, ends_at);
-- A delivery that the gate keeps back: why, and until when. It is kept back while due_at = held_until.
ALTER TABLE rollcall_deliveries ADD COLUMN held TEXT NOT NULL DEFAULT '';
ALTER TABLE rollcall_deliveries ADD COLUMN held_until BIGINT;
