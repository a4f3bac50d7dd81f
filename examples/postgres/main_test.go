package main

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestPostgres(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	for n := range 2 { // the second run opens the first one's data
		out, err := exec.CommandContext(t.Context(), "go", "run", ".", db.URL).Output()
		if want := fmt.Sprintf("backup is up after %d pings\n", n+1); err != nil || string(out) != want {
			t.Errorf("%v, printed %q, want %q", err, out, want)
		}
	}
}
