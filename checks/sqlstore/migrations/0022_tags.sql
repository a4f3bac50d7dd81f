-- The tags of checks, so that a search by tag reads only what it finds. Triggers keep the table, so it is also right about
-- what servers of earlier versions write; see tags.go.
CREATE TABLE rollcall_check_tags (
    project_id {UUID} NOT NULL,
    tag        TEXT{BYTEWISE} NOT NULL,
    check_id   BIGINT NOT NULL,
    PRIMARY KEY (project_id, tag, check_id)
){INDEX_ONLY};
{KEEP_TAGS}
