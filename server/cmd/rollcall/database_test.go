package main

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
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
	} {
		d, err := parseDatabase(text)
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
		if _, err := parseDatabase(text); !isUsage(err) {
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
		if _, err := parseDatabase(text); err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// Errors explain in words that a file is locked or read-only.
func TestExplainSQLite(t *testing.T) {
	db := dbtest.SQLite(t)
	db.Open(t)
	d, err := parseDatabase(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	d.busy = time.Second // also bounds opening the file
	migrate := func() error {
		return d.withStore(t.Context(), false, func(store *sqlstore.Store) error { return store.Migrate(t.Context()) })
	}
	other, err := sql.Open("sqlite", "file:"+d.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	conn, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	mustExec(t, conn, "BEGIN IMMEDIATE")
	want := "database " + d.String() + ": is locked by another process"
	if err := migrate(); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	mustExec(t, conn, "ROLLBACK")
	if err := migrate(); err != nil {
		t.Errorf("after the lock: %v", err)
	}

	mustExec(t, conn, "PRAGMA query_only = 1")
	_, err = conn.ExecContext(t.Context(), "DELETE FROM rollcall_schema")
	want = "database " + d.String() + ": is read-only"
	if err := d.explain(err); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func mustExec(t *testing.T, conn *sql.Conn, statement string) {
	t.Helper()
	if _, err := conn.ExecContext(context.Background(), statement); err != nil {
		t.Fatal(err)
	}
}

// These settings keep pings durable and let several servers share a file.
func TestSQLiteSettings(t *testing.T) {
	d, err := parseDatabase(dbtest.SQLite(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	db, err := d.open(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got := make(map[string]string)
	for _, pragma := range []string{"journal_mode", "synchronous", "busy_timeout", "foreign_keys"} {
		var value string
		if err := db.DB.QueryRow("PRAGMA " + pragma).Scan(&value); err != nil {
			t.Fatal(err)
		}
		got[pragma] = value
	}
	want := map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000", "foreign_keys": "1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	// Readers do not wait for a writer.
	tx, err := db.DB.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	var n int
	if err := db.DB.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&n); err != nil {
		t.Error(err)
	}
}

func TestPostgresWithoutDatabase(t *testing.T) {
	url := dbtest.PostgreSQL(t).URL
	d, err := parseDatabase(url[:strings.LastIndex(url, "/")] + "/nosuch")
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.open(t.Context(), true)
	want := "database " + d.String() + `: database "nosuch" does not exist`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
