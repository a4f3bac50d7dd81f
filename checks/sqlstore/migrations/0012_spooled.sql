-- Pings out of the spools of several servers, which wait here for older ones of other servers.
CREATE TABLE rollcall_spooled (
    id   {ID},
    at   BIGINT NOT NULL,
    data {BYTES} NOT NULL
);
CREATE INDEX rollcall_spooled_at ON rollcall_spooled (at, id);
