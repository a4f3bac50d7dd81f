CREATE INDEX rollcall_checks_status ON rollcall_checks (project_id, status, sort_name);
CREATE INDEX rollcall_checks_slow ON rollcall_checks (project_id, slow_at) WHERE slow_at > 0;
