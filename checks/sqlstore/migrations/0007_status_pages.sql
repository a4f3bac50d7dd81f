-- Public pages about checks. The tags are separated by blanks; '' is all checks of the project. Deleting a project
-- deletes its pages also in servers of the version before, which do not know them.
CREATE TABLE rollcall_status_pages (
    id          {UUID} PRIMARY KEY,
    project_id  {UUID} NOT NULL REFERENCES rollcall_projects (id) ON DELETE CASCADE,
    slug        TEXT NOT NULL UNIQUE,
    title       TEXT NOT NULL,
    description TEXT NOT NULL,
    tags        TEXT NOT NULL,
    created_at  BIGINT NOT NULL
);
CREATE INDEX rollcall_status_pages_project ON rollcall_status_pages (project_id, created_at);
