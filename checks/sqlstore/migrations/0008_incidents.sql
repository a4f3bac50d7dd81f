-- The recipients that have accepted a delivery, as a JSON array or '', and why a delivery closes an incident.
ALTER TABLE rollcall_deliveries ADD COLUMN done TEXT NOT NULL DEFAULT '';
ALTER TABLE rollcall_deliveries ADD COLUMN close TEXT NOT NULL DEFAULT '';

-- What receivers keep open about checks. A row outlives its check, so that the incident can still be closed. Deleting a
-- channel deletes its rows also in servers of the version before, which do not know them.
CREATE TABLE rollcall_incidents (
    check_uuid  {UUID} NOT NULL,
    channel_id  {UUID} NOT NULL REFERENCES rollcall_channels (id) ON DELETE CASCADE,
    check_name  TEXT NOT NULL,
    delivery_id BIGINT NOT NULL, -- the one that last reported the check down
    open        TEXT NOT NULL,
    down_at     BIGINT NOT NULL,
    due_at      BIGINT NOT NULL,
    attempts    BIGINT NOT NULL,
    PRIMARY KEY (check_uuid, channel_id)
);
CREATE INDEX rollcall_incidents_due ON rollcall_incidents (due_at);
CREATE INDEX rollcall_incidents_channel ON rollcall_incidents (channel_id);
