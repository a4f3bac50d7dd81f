-- The escalation policies of projects: which integrations are notified when, in microseconds after an alert. An integration is in one step.
CREATE TABLE rollcall_escalations (
    channel_id {UUID} PRIMARY KEY REFERENCES rollcall_channels (id) ON DELETE CASCADE,
    project_id {UUID} NOT NULL REFERENCES rollcall_projects (id) ON DELETE CASCADE,
    after      BIGINT NOT NULL
);
CREATE INDEX rollcall_escalations_project ON rollcall_escalations (project_id, after);
