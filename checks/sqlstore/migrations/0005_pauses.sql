-- When checks were paused, which writes no flip.
CREATE TABLE rollcall_pauses (
    id          {ID},
    check_id    BIGINT NOT NULL,
    at          BIGINT NOT NULL,
    from_status SMALLINT NOT NULL
);
CREATE INDEX rollcall_pauses_check ON rollcall_pauses (check_id);
CREATE INDEX rollcall_pauses_at ON rollcall_pauses (at);
