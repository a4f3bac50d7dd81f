package sqlstore_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	comment = regexp.MustCompile(`--.*`)
	adds    = regexp.MustCompile(`^(CREATE (TABLE|INDEX) |ALTER TABLE \w+ ADD COLUMN |\{KEEP_TAGS\}$|\{KEEP_TAG_BY_TAG\}$)`)
	// required is a column without which servers of the version before cannot insert a row.
	required = regexp.MustCompile(`ADD COLUMN .* NOT NULL( |$)`)
)

// unreleased are migrations that drop what only builds before version 0.1.0 used.
var unreleased = []string{"migrations/0017_state.sql", "migrations/0019_days.sql"}

// TestMigrationsOnlyAdd reads all migrations but the first. Servers of the version before run on the schema that they leave.
func TestMigrationsOnlyAdd(t *testing.T) {
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d migrations, %v", len(files), err)
	}
	for _, file := range files[1:] {
		if slices.Contains(unreleased, file) {
			continue
		}
		text, err := os.ReadFile(file)
		must(t, err)
		for statement := range strings.SplitSeq(comment.ReplaceAllString(string(text), ""), ";") {
			statement = strings.Join(strings.Fields(statement), " ")
			if statement != "" && !onlyAdds(statement) {
				t.Errorf("%s does more than add tables, columns and indexes: %s", file, statement)
			}
		}
	}
	for statement, want := range map[string]bool{
		"ALTER TABLE rollcall_checks ADD COLUMN a BIGINT":                    true,
		"ALTER TABLE rollcall_checks ADD COLUMN a BIGINT NOT NULL DEFAULT 0": true,
		"ALTER TABLE rollcall_checks ADD COLUMN a BIGINT NOT NULL":           false,
		"ALTER TABLE rollcall_checks DROP COLUMN a":                          false,
		"ALTER TABLE rollcall_checks RENAME COLUMN a TO b":                   false,
		"CREATE UNIQUE INDEX i ON rollcall_checks (slug)":                    false,
		"UPDATE rollcall_checks SET slug = name":                             false,
	} {
		if onlyAdds(statement) != want {
			t.Errorf("%s: only adds: %t, want %t", statement, !want, want)
		}
	}
}

func onlyAdds(statement string) bool {
	return adds.MatchString(statement) && (!required.MatchString(statement) || strings.Contains(statement, " DEFAULT "))
}
