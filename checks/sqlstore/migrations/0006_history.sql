-- The last runs and the totals of the newest day; see history.go.
ALTER TABLE rollcall_states ADD COLUMN history {BYTES};

-- The totals of earlier days: a row for each check and UTC month, which counts from January 1970; see months.go. folded is
-- set when days has the times up and down too, which are no longer computed from the flips then.
CREATE TABLE rollcall_months (
    check_id BIGINT NOT NULL,
    month    BIGINT NOT NULL,
    folded   BOOLEAN NOT NULL,
    days     {BYTES} NOT NULL,
    PRIMARY KEY (check_id, month)
);
