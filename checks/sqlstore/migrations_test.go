package sqlstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

var (
	comment = regexp.MustCompile(`--.*`)
	adds    = regexp.MustCompile(`^(CREATE (TABLE|INDEX) |ALTER TABLE \w+ ADD COLUMN )`)
	// required is a column without which servers of the version before cannot insert a row.
	required = regexp.MustCompile(`ADD COLUMN .* NOT NULL( |$)`)
)

// TestMigrationsOnlyAdd reads all migrations but the first. Servers of the version before run on the schema that they leave. Each has the
// next version in its name, and the first has one that no build before version 0.1.0 had.
func TestMigrationsOnlyAdd(t *testing.T) {
	files, err := filepath.Glob("migrations/*.sql")
	must(t, err)
	for i, file := range files {
		if want := fmt.Sprintf("%04d_", sqlstore.Unreleased()+i); !strings.HasPrefix(filepath.Base(file), want) {
			t.Errorf("%s: its name begins with another version than %s", file, want)
		}
		if i == 0 {
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
		"CREATE TABLE rollcall_a (id BIGINT)":                                true,
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
