-- The schema of both databases. dialect.go replaces the tokens in braces, which differ between them. Comments inside a table stay in an
-- SQLite database. Each statement ends a line with a semicolon, and no other line ends so.
--
-- Instants (…_at, at, since) are microseconds since 1970 in UTC, so that they compare and sort as numbers everywhere. Settings that
-- are durations are in seconds, all other durations in microseconds. Codes are indexes of the lists in states.go.

-- Who may have how many checks.
CREATE TABLE rollcall_accounts (
    id         {ID},
    name       TEXT NOT NULL,
    plan       TEXT NOT NULL,
    max_checks BIGINT NOT NULL DEFAULT 0,
    UNIQUE (name, plan)
);

CREATE TABLE rollcall_projects (
    id           {UUID} PRIMARY KEY,
    account_id   BIGINT NOT NULL REFERENCES rollcall_accounts (id),
    name         TEXT NOT NULL UNIQUE,
    badge_key    TEXT NOT NULL UNIQUE,
    ping_key     TEXT NOT NULL UNIQUE,
    created_at   BIGINT NOT NULL,
    -- When alerts leave together: the number of checks, and the window in seconds.
    storm_checks BIGINT NOT NULL,
    storm_window BIGINT NOT NULL
);
CREATE INDEX rollcall_projects_account ON rollcall_projects (account_id);

-- API keys, by their SHA-256.
CREATE TABLE rollcall_keys (
    id         {UUID} PRIMARY KEY,
    project_id {UUID} NOT NULL REFERENCES rollcall_projects (id),
    scope      TEXT NOT NULL,
    hash       {BYTES} NOT NULL UNIQUE,
    hint       TEXT NOT NULL, -- the first characters
    created_at BIGINT NOT NULL,
    expires_at BIGINT         -- NULL: never
);
CREATE INDEX rollcall_keys_project ON rollcall_keys (project_id);
CREATE INDEX rollcall_keys_expiry ON rollcall_keys (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE rollcall_channels (
    id         {UUID} PRIMARY KEY,
    project_id {UUID} NOT NULL REFERENCES rollcall_projects (id),
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    settings   TEXT NOT NULL,            -- a JSON object
    sources    TEXT NOT NULL DEFAULT '', -- where secret settings come from, which must not be printed: a JSON object, or '' for none
    created_at BIGINT NOT NULL,
    -- When and why a delivery was last given up. The next one that is sent clears both.
    failed_at  BIGINT,
    error      TEXT NOT NULL DEFAULT ''
);
CREATE INDEX rollcall_channels_project ON rollcall_channels (project_id, created_at);

-- The escalation policies of projects. An integration is in one step.
CREATE TABLE rollcall_escalations (
    channel_id {UUID} PRIMARY KEY REFERENCES rollcall_channels (id) ON DELETE CASCADE,
    project_id {UUID} NOT NULL REFERENCES rollcall_projects (id) ON DELETE CASCADE,
    after      BIGINT NOT NULL -- how long after an alert, in microseconds
);
CREATE INDEX rollcall_escalations_project ON rollcall_escalations (project_id, after);

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
    tags                TEXT NOT NULL, -- separated by blanks
    description         TEXT NOT NULL,
    -- Deadlines. A schedule of '' means the timeout; a max_runtime of 0 is as long as the grace.
    timeout             BIGINT NOT NULL,
    grace               BIGINT NOT NULL,
    max_runtime         BIGINT NOT NULL DEFAULT 0,
    schedule            TEXT NOT NULL,
    tz                  TEXT NOT NULL,
    timing_since        BIGINT NOT NULL,
    -- What pings mean.
    manual_resume       BOOLEAN NOT NULL,
    methods             TEXT NOT NULL,
    start_kw            TEXT NOT NULL,
    success_kw          TEXT NOT NULL,
    failure_kw          TEXT NOT NULL,
    filter_subject      BOOLEAN NOT NULL,
    filter_body         BOOLEAN NOT NULL,
    filter_http_body    BOOLEAN NOT NULL,
    filter_default_fail BOOLEAN NOT NULL,
    -- Alert rules. 0 and '' are none. after has the slugs or IDs of the checks that this one follows, with commas between them.
    alert_after         BIGINT NOT NULL DEFAULT 0,
    repeat_every        BIGINT NOT NULL DEFAULT 0,
    quiet_hours         TEXT NOT NULL DEFAULT '',
    record_only         BOOLEAN NOT NULL DEFAULT FALSE,
    after               TEXT NOT NULL DEFAULT '',
    -- What lists select and sort by; see lists.go. All of it follows from the check: the code of its stored status and since when,
    -- when its last run ended if that was slow, or 0, its name as lists sort it, and the texts in which searches look.
    status              SMALLINT NOT NULL DEFAULT 0,
    status_at           BIGINT NOT NULL DEFAULT 0,
    slow_at             BIGINT NOT NULL DEFAULT 0,
    sort_name           TEXT{BYTEWISE} NOT NULL DEFAULT '',
    search              TEXT{BYTEWISE} NOT NULL DEFAULT ''
);
CREATE INDEX rollcall_checks_slug ON rollcall_checks (project_id, slug);
CREATE INDEX rollcall_checks_name ON rollcall_checks (project_id, name);
CREATE INDEX rollcall_checks_unique_key ON rollcall_checks (unique_key);
CREATE INDEX rollcall_checks_status ON rollcall_checks (project_id, status, sort_name);
CREATE INDEX rollcall_checks_slow ON rollcall_checks (project_id, slow_at) WHERE slow_at > 0;
CREATE INDEX rollcall_checks_after ON rollcall_checks (project_id) WHERE after <> '';

-- The tags of checks, so that a search by tag reads only what it finds. Triggers keep it; see tags.go.
CREATE TABLE rollcall_check_tags (
    project_id {UUID} NOT NULL,
    tag        TEXT{BYTEWISE} NOT NULL,
    check_id   BIGINT NOT NULL,
    PRIMARY KEY (project_id, tag, check_id)
){INDEX_ONLY};
{KEEP_TAGS};

CREATE TABLE rollcall_check_channels (
    check_id   BIGINT NOT NULL,
    channel_id {UUID} NOT NULL,
    PRIMARY KEY (check_id, channel_id)
);
CREATE INDEX rollcall_check_channels_channel ON rollcall_check_channels (channel_id);

-- The state of checks. Every ping writes it, so it is narrow, and no index covers what most pings change.
CREATE TABLE rollcall_states (
    check_id {KEY},
    n_pings  BIGINT NOT NULL,
    revision BIGINT NOT NULL DEFAULT 0, -- a random number, which every write of the check changes
    log_head BIGINT,                    -- the newest entry of rollcall_pings
    watch_at BIGINT,                    -- a lower bound of the deadline; most pings leave it unchanged
    last_at  BIGINT,                    -- the last success or failure
    next_at  BIGINT,                    -- when the next ping is expected
    down_at  BIGINT,                    -- when the check goes down without one
    state    TEXT                       -- the JSON of all of it; see checkrow.go
) {HOT};
CREATE INDEX rollcall_states_watch ON rollcall_states (watch_at) WHERE watch_at IS NOT NULL;

-- The ping log of all checks, only ever appended to and pruned from the old end. It has no index but its key: the entries of one
-- check are a chain from rollcall_states.log_head along prev, newest first.
CREATE TABLE rollcall_pings (
    id           {KEY},
    check_id     BIGINT NOT NULL,
    n            BIGINT NOT NULL,
    prev         BIGINT,
    kind         SMALLINT NOT NULL,
    at           BIGINT NOT NULL,
    scheme       TEXT NOT NULL,
    method       TEXT NOT NULL,
    remote_addr  TEXT NOT NULL,
    ua           TEXT NOT NULL,
    run          {UUID},
    exit_status  SMALLINT,
    duration     BIGINT,
    -- The body: its size, how many bytes were left out after its first half, its character set, and its key in object storage, where
    -- the column body is NULL.
    body_size    BIGINT NOT NULL,
    body_cut     BIGINT NOT NULL DEFAULT 0,
    body_charset TEXT NOT NULL DEFAULT '',
    object       TEXT,
    body         {BYTES}
);

-- The outbox of bodies for object storage, committed together with their pings.
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

-- clock is that of the outage as JSON, if the check waits for steps of an escalation policy; see gate.Clock.
CREATE TABLE rollcall_flips (
    id          {KEY},
    check_id    BIGINT NOT NULL,
    at          BIGINT NOT NULL,
    up          BOOLEAN NOT NULL,
    from_status SMALLINT NOT NULL,
    reason      TEXT NOT NULL,
    clock       TEXT
);
CREATE INDEX rollcall_flips_check ON rollcall_flips (check_id, at);
CREATE INDEX rollcall_flips_at ON rollcall_flips (at);

-- When checks were paused, which writes no flip.
CREATE TABLE rollcall_pauses (
    id          {ID},
    check_id    BIGINT NOT NULL,
    at          BIGINT NOT NULL,
    from_status SMALLINT NOT NULL
);
CREATE INDEX rollcall_pauses_check ON rollcall_pauses (check_id);
CREATE INDEX rollcall_pauses_at ON rollcall_pauses (at);

-- The statistics of checks, a row for each UTC month, which counts from January 1970. stats is JSON; see months.go. It has the times up
-- and down too if folded is set: they are no longer computed from the flips then.
CREATE TABLE rollcall_months (
    check_id BIGINT NOT NULL,
    month    BIGINT NOT NULL,
    folded   BOOLEAN NOT NULL,
    stats    TEXT NOT NULL,
    PRIMARY KEY (check_id, month)
);

-- The outbox of alerts: one row for each alert and channel, committed together with the flip. Of the pending rows of one check,
-- channel and recipient, only the one with the lowest id can be claimed, which keeps alerts in order.
CREATE TABLE rollcall_deliveries (
    id          {ID},
    flip_id     BIGINT NOT NULL,
    check_id    BIGINT NOT NULL,
    channel_id  {UUID} NOT NULL,
    recipient   TEXT NOT NULL DEFAULT '',  -- the only recipient, or '' for all of the channel
    origin      BIGINT NOT NULL DEFAULT 0, -- the delivery that it was handed over from, or 0; negative: that of a group of which it is a copy
    reminder    BIGINT NOT NULL DEFAULT 0, -- 0 for the alert itself, then 1, 2, …
    since       BIGINT,                    -- the alert sums up the flips from this instant on
    close       TEXT NOT NULL DEFAULT '',  -- why it closes an incident, or ''
    state       TEXT NOT NULL,
    attempts    BIGINT NOT NULL DEFAULT 0,
    -- When the row can be claimed: of a claimed row the end of its lease, of a row behind another the end of its parking.
    due_at      BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    finished_at BIGINT,
    -- What the gate keeps back: why, and until when. It does so while due_at = held_until.
    held        TEXT NOT NULL DEFAULT '',
    held_until  BIGINT,
    batch       BIGINT,                    -- the first of the deliveries that one message stands for; NULL for one that is sent alone
    done        TEXT NOT NULL DEFAULT '',  -- the recipients that have the alert: a JSON array, or ''
    error       TEXT NOT NULL DEFAULT ''
);
CREATE INDEX rollcall_deliveries_due ON rollcall_deliveries (due_at) WHERE state = 'pending';
CREATE INDEX rollcall_deliveries_ready ON rollcall_deliveries (channel_id, due_at, id) WHERE state = 'pending';
CREATE INDEX rollcall_deliveries_order ON rollcall_deliveries (check_id, channel_id, id) WHERE state = 'pending';
CREATE INDEX rollcall_deliveries_check ON rollcall_deliveries (check_id, id);
CREATE INDEX rollcall_deliveries_channel ON rollcall_deliveries (channel_id, id);
CREATE INDEX rollcall_deliveries_created ON rollcall_deliveries (created_at);

-- What receivers keep open about checks. A row outlives its check, so that the incident can still be closed.
CREATE TABLE rollcall_incidents (
    check_uuid  {UUID} NOT NULL,
    channel_id  {UUID} NOT NULL REFERENCES rollcall_channels (id) ON DELETE CASCADE,
    check_name  TEXT NOT NULL,
    delivery_id BIGINT NOT NULL, -- the one that last reported the check down
    open        TEXT NOT NULL,   -- what the notifier says that it has left open
    down_at     BIGINT NOT NULL,
    due_at      BIGINT NOT NULL,
    attempts    BIGINT NOT NULL,
    PRIMARY KEY (check_uuid, channel_id)
);
CREATE INDEX rollcall_incidents_due ON rollcall_incidents (due_at);
CREATE INDEX rollcall_incidents_channel ON rollcall_incidents (channel_id);

-- Maintenance windows and snoozes.
CREATE TABLE rollcall_windows (
    id         {UUID} PRIMARY KEY,
    project_id {UUID} NOT NULL REFERENCES rollcall_projects (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL,
    starts_at  BIGINT NOT NULL,
    ends_at    BIGINT,       -- the end of the last occurrence; NULL: it recurs without an end
    definition TEXT NOT NULL -- the JSON of a gate.Window
);
CREATE INDEX rollcall_windows_project ON rollcall_windows (project_id, ends_at);

-- Public pages about checks. The tags are separated by blanks; '' is all checks of the project.
CREATE TABLE rollcall_status_pages (
    id          {UUID} PRIMARY KEY,
    project_id  {UUID} NOT NULL REFERENCES rollcall_projects (id) ON DELETE CASCADE,
    slug        TEXT NOT NULL UNIQUE,
    title       TEXT NOT NULL,
    description TEXT NOT NULL,
    tags        TEXT NOT NULL,
    names       TEXT NOT NULL, -- the public names of checks by their id in JSON, or empty
    min_outage  BIGINT NOT NULL,
    created_at  BIGINT NOT NULL
);
CREATE INDEX rollcall_status_pages_project ON rollcall_status_pages (project_id, created_at);

-- Documents of what surrounds checks: people, their sessions, one-time links, keys of the installation. A kind and a key name one;
-- the owner groups those that go together.
CREATE TABLE rollcall_records (
    id      {ID},
    kind    TEXT NOT NULL,
    key     TEXT NOT NULL,
    owner   {UUID} NOT NULL,
    value   TEXT NOT NULL,
    ends_at BIGINT, -- NULL: never
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
    changes    TEXT NOT NULL -- JSON
);
CREATE INDEX rollcall_audit_at ON rollcall_audit (at);
CREATE INDEX rollcall_audit_project ON rollcall_audit (project_id, id);
CREATE INDEX rollcall_audit_check ON rollcall_audit (check_id, id);

-- Secrets of the installation, and values that end, such as leases and the ends of sessions.
CREATE TABLE rollcall_settings (
    name    TEXT PRIMARY KEY,
    value   TEXT NOT NULL,
    ends_at BIGINT -- NULL: never
);

-- How far the servers with a spool have come: a row for each run of a server.
CREATE TABLE rollcall_spools (
    id            {UUID} PRIMARY KEY,
    spool_id      {UUID} NOT NULL,
    recorded      BIGINT NOT NULL DEFAULT 0, -- the number of its last ping that is in the database
    settled_at    BIGINT NOT NULL,           -- all pings that it received before are in the database
    seen_at       BIGINT NOT NULL,
    missing_since BIGINT
) {HOT};

-- Pings out of the spools of several servers, which wait here for older ones of other servers.
CREATE TABLE rollcall_spooled (
    id   {ID},
    at   BIGINT NOT NULL,
    data {BYTES} NOT NULL
);
CREATE INDEX rollcall_spooled_at ON rollcall_spooled (at, id);

{SEQUENCES}
