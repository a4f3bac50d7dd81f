-- The tokens in braces differ between the databases; see dialect.go. Instants are microseconds since 1970 in UTC,
-- so that they compare and sort as numbers everywhere. Timeout and grace are in seconds.

CREATE TABLE rollcall_settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE rollcall_accounts (
    id         {ID},
    name       TEXT NOT NULL,
    plan       TEXT NOT NULL,
    max_checks BIGINT NOT NULL DEFAULT 0,
    UNIQUE (name, plan)
);

CREATE TABLE rollcall_projects (
    id         {UUID} PRIMARY KEY,
    account_id BIGINT NOT NULL REFERENCES rollcall_accounts (id),
    name       TEXT NOT NULL UNIQUE,
    badge_key  TEXT NOT NULL UNIQUE,
    ping_key   TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);
CREATE INDEX rollcall_projects_account ON rollcall_projects (account_id);

CREATE TABLE rollcall_keys (
    id         {UUID} PRIMARY KEY,
    project_id {UUID} NOT NULL REFERENCES rollcall_projects (id),
    read_only  BOOLEAN NOT NULL,
    hash       {BYTES} NOT NULL UNIQUE,
    hint       TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX rollcall_keys_project ON rollcall_keys (project_id);

CREATE TABLE rollcall_channels (
    id         {UUID} PRIMARY KEY,
    project_id {UUID} NOT NULL REFERENCES rollcall_projects (id),
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    settings   TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- When and why a delivery was last given up; cleared by the next one that arrives.
    failed_at  BIGINT,
    error      TEXT NOT NULL DEFAULT ''
);
CREATE INDEX rollcall_channels_project ON rollcall_channels (project_id, created_at);

-- The settings of checks. Written rarely.
CREATE TABLE rollcall_checks (
    id                  {ID},
    uuid                {UUID} NOT NULL UNIQUE,
    project_id          {UUID} NOT NULL REFERENCES rollcall_projects (id),
    unique_key          TEXT NOT NULL,
    badge_key           {UUID} NOT NULL UNIQUE,
    created_at          BIGINT NOT NULL,
    name                TEXT NOT NULL,
    slug                TEXT NOT NULL,
    tags                TEXT NOT NULL,
    description         TEXT NOT NULL,
    timeout             BIGINT NOT NULL,
    grace               BIGINT NOT NULL,
    schedule            TEXT NOT NULL,
    tz                  TEXT NOT NULL,
    timing_since        BIGINT NOT NULL,
    manual_resume       BOOLEAN NOT NULL,
    methods             TEXT NOT NULL,
    start_kw            TEXT NOT NULL,
    success_kw          TEXT NOT NULL,
    failure_kw          TEXT NOT NULL,
    filter_subject      BOOLEAN NOT NULL,
    filter_body         BOOLEAN NOT NULL,
    filter_http_body    BOOLEAN NOT NULL,
    filter_default_fail BOOLEAN NOT NULL,
    -- The alert rules: 0 and '' are none. repeat_every is in seconds.
    alert_after         BIGINT NOT NULL DEFAULT 0,
    repeat_every        BIGINT NOT NULL DEFAULT 0,
    quiet_hours         TEXT NOT NULL DEFAULT ''
);
CREATE INDEX rollcall_checks_slug ON rollcall_checks (project_id, slug);
CREATE INDEX rollcall_checks_name ON rollcall_checks (project_id, name);
CREATE INDEX rollcall_checks_unique_key ON rollcall_checks (unique_key);

-- The state of checks. Every ping writes it, so it is narrow, and no index covers what most pings change: watch_at is a
-- lower bound of the deadline, and most pings leave it unchanged.
CREATE TABLE rollcall_states (
    check_id       {KEY},
    status         SMALLINT NOT NULL,
    n_pings        BIGINT NOT NULL,
    last_ping      BIGINT,
    last_start     BIGINT,
    last_start_run {UUID},
    runs           {BYTES},
    alerting       {BYTES},
    log_head       BIGINT,
    watch_at       BIGINT,
    -- A random number; every write of the check changes it.
    revision       BIGINT NOT NULL DEFAULT 0
) {HOT};
CREATE INDEX rollcall_states_watch ON rollcall_states (watch_at) WHERE watch_at IS NOT NULL;

CREATE TABLE rollcall_check_channels (
    check_id   BIGINT NOT NULL,
    channel_id {UUID} NOT NULL,
    PRIMARY KEY (check_id, channel_id)
);
CREATE INDEX rollcall_check_channels_channel ON rollcall_check_channels (channel_id);

-- The ping log of all checks, only ever appended to and pruned from the old end. It has no index but its key: the
-- entries of one check are a chain from rollcall_states.log_head along prev, newest first.
CREATE TABLE rollcall_pings (
    id          {KEY},
    check_id    BIGINT NOT NULL,
    n           BIGINT NOT NULL,
    prev        BIGINT,
    kind        SMALLINT NOT NULL,
    at          BIGINT NOT NULL,
    scheme      TEXT NOT NULL,
    method      TEXT NOT NULL,
    remote_addr TEXT NOT NULL,
    ua          TEXT NOT NULL,
    run         {UUID},
    exit_status SMALLINT,
    duration    BIGINT,
    body_size   BIGINT NOT NULL,
    body        {BYTES},
    object      TEXT
);

-- The outbox of bodies for object storage, committed together with their pings. After the upload, the body of the ping
-- is NULL and its object is the object's key.
CREATE TABLE rollcall_uploads (
    ping_id  {KEY},
    object   TEXT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    due_at   BIGINT NOT NULL
);
CREATE INDEX rollcall_uploads_due ON rollcall_uploads (due_at);

-- Objects whose pings were removed, committed together with the removal.
CREATE TABLE rollcall_removals (
    object   TEXT PRIMARY KEY,
    attempts BIGINT NOT NULL DEFAULT 0,
    due_at   BIGINT NOT NULL
);
CREATE INDEX rollcall_removals_due ON rollcall_removals (due_at);

CREATE TABLE rollcall_flips (
    id          {KEY},
    check_id    BIGINT NOT NULL,
    at          BIGINT NOT NULL,
    up          BOOLEAN NOT NULL,
    from_status SMALLINT NOT NULL,
    reason      TEXT NOT NULL
);
CREATE INDEX rollcall_flips_check ON rollcall_flips (check_id, at);
CREATE INDEX rollcall_flips_at ON rollcall_flips (at);

-- The outbox of alerts: one row for each alert and channel, committed together with the flip. Of the pending rows of
-- one check and channel, only the one with the lowest id can be claimed, which keeps alerts in order. due_at is when a
-- row can be claimed: for a claimed row the end of its lease, for a row behind another the end of its parking.
CREATE TABLE rollcall_deliveries (
    id          {ID},
    flip_id     BIGINT NOT NULL,
    check_id    BIGINT NOT NULL,
    channel_id  {UUID} NOT NULL,
    reminder    BIGINT NOT NULL DEFAULT 0, -- 0 for the alert itself, then 1, 2, …
    since       BIGINT,                    -- the alert sums up the flips from this instant on
    state       TEXT NOT NULL,
    attempts    BIGINT NOT NULL DEFAULT 0,
    due_at      BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    finished_at BIGINT,
    error       TEXT NOT NULL DEFAULT ''
);
CREATE INDEX rollcall_deliveries_due ON rollcall_deliveries (due_at) WHERE state = 'pending';
CREATE INDEX rollcall_deliveries_ready ON rollcall_deliveries (channel_id, due_at, id) WHERE state = 'pending';
CREATE INDEX rollcall_deliveries_order ON rollcall_deliveries (check_id, channel_id, id) WHERE state = 'pending';
CREATE INDEX rollcall_deliveries_check ON rollcall_deliveries (check_id, id);
CREATE INDEX rollcall_deliveries_channel ON rollcall_deliveries (channel_id, id);
CREATE INDEX rollcall_deliveries_created ON rollcall_deliveries (created_at);

{SEQUENCES}
