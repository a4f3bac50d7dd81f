package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
)

func openMonitor(t *testing.T, db dbtest.DB) *monitor.Monitor {
	t.Helper()
	mon, err := monitor.New(db.Open(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return mon
}

func TestParseDatabase(t *testing.T) {
	for text, want := range map[string]string{
		"sqlite:rollcall.db":                 "sqlite:rollcall.db",
		"sqlite:/var/lib/a b.db":             "sqlite:/var/lib/a b.db",
		"sqlite:///var/lib/x.db":             "sqlite:/var/lib/x.db",
		"postgres://u:pw@db.example.org/x":   "postgres://db.example.org:5432/x",
		"postgresql://u:p%40w@localhost:1/x": "postgres://localhost:1/x",
		"postgres://u:pw@db1:1,db2:2/x":      "postgres://db1:1,db2:2/x",
	} {
		d, err := installation.ParseDatabase(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, d.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{"", "rollcall.db", "sqlite", "sqlite:", "sqlite::memory:", "sqlite://x.db", "mysql://h/x",
		"postgres:", "postgres:u@h/x", "POSTGRES://h/x", "postgres://h/x?sslmode=perhaps", "postgres://h/x?connect_timeout=soon"} {
		if _, err := installation.ParseDatabase(text); !console.IsUsage(err) {
			t.Errorf("%q: error %v, want one of usage", text, err)
		}
	}
}

// FuzzParseDatabase checks that no error shows the password.
func FuzzParseDatabase(f *testing.F) {
	const secret = "qYzXw"
	for _, seed := range [][2]string{
		{"", ""}, {"/", ""}, {"#", "@"}, {"?", "&"}, {"@", ""}, {"%", "z"}, {":", "["}, {" ", "\n"}, {"%00", ""},
		{"pw@h/x?password=", "&"}, {"pw@h/x?password=&", "="}, {"@h/x?", "=1&sslmode="},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		// The whole value is the password, because nobody can tell where an unescaped one begins.
		text := "postgres://user:" + before + secret + after + "@localhost/x"
		if _, err := installation.ParseDatabase(text); err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// Errors explain in words that a file is read-only.
func TestExplainSQLite(t *testing.T) {
	db := dbtest.SQLite(t)
	db.Open(t)
	d, err := installation.ParseDatabase(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Bun(t).ExecContext(t.Context(), "PRAGMA query_only = 1; DELETE FROM rollcall_schema")
	want := "database " + d.String() + ": is read-only"
	if err := d.Explain(err); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestPostgresWithoutDatabase(t *testing.T) {
	url := dbtest.PostgreSQL(t).URL
	d, err := installation.ParseDatabase(url[:strings.LastIndex(url, "/")] + "/nosuch")
	if err != nil {
		t.Fatal(err)
	}
	err = d.WithStore(t.Context(), true, func(*sqlstore.Store) error { return nil })
	want := "database " + d.String() + `: database "nosuch" does not exist`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
