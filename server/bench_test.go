package server_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/server"
)

// discard is a response that nobody reads.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkPing measures the cost of a lone ping from net/http on, with a database in memory, beside that of a transaction
// that writes two rows.
func BenchmarkPing(b *testing.B) {
	b.Run("ping", benchmarkPing)
	b.Run("transaction", benchmarkTransaction)
}

func benchmarkTransaction(b *testing.B) {
	db, err := sqlite.OpenDB(b.Context(), sqlite.Memory)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	_, err = db.Exec("CREATE TABLE states (id INTEGER PRIMARY KEY, n INTEGER); CREATE TABLE pings (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO states VALUES (1, 0)")
	if err != nil {
		b.Fatal(err)
	}
	insert, err := db.Prepare("INSERT INTO pings (n) VALUES (?)")
	if err != nil {
		b.Fatal(err)
	}
	update, err := db.Prepare("UPDATE states SET n = ? WHERE id = 1")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		tx, err := db.Begin()
		if err != nil {
			b.Fatal(err)
		}
		_, inserted := tx.Stmt(insert).Exec(n)
		_, updated := tx.Stmt(update).Exec(n)
		if err := errors.Join(inserted, updated, tx.Commit()); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkPing(b *testing.B) {
	mon, srv := newServer(b, dbtest.Memory(b), monitor.Config{}, server.Config{})
	project, err := mon.OpenProject(b.Context(), "p")
	if err != nil {
		b.Fatal(err)
	}
	check, err := project.Create(b.Context(), checks.Spec{})
	if err != nil {
		b.Fatal(err)
	}
	handler := srv
	r := httptest.NewRequest("GET", "/ping/"+check.ID.String(), nil)
	r.Body = http.NoBody
	w := discard{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		handler.ServeHTTP(w, r)
	}
}

// BenchmarkRead measures reads of the management interface on a real database with 1,000 checks.
func BenchmarkRead(b *testing.B) {
	dbtest.Each(b, func(b *testing.B, db dbtest.DB) {
		mon, srv := newServer(b, db.Open(b), monitor.Config{}, server.Config{})
		project, keys, err := mon.Projects().Create(b.Context(), checks.ProjectSpec{Name: "p"})
		if err != nil {
			b.Fatal(err)
		}
		var check checks.Snapshot
		for range 1000 {
			if check, err = mon.Project(project.ID).Create(b.Context(), checks.Spec{Tags: []string{"prod"}}); err != nil {
				b.Fatal(err)
			}
		}
		handler := srv
		for what, path := range map[string]string{
			"list": "/api/v3/checks/", "check": "/api/v3/checks/" + check.ID.String(),
			"badge": badges.CheckPath(check.Check.BadgeKey.String(), badges.SVG, false),
			"tag":   testSigner(b).Path(project.BadgeKey, "prod", badges.SVG, false),
		} {
			b.Run(what, func(b *testing.B) {
				r := httptest.NewRequest("GET", path, nil)
				r.Header.Set("X-Api-Key", keys.ReadWrite)
				b.ReportAllocs()
				for b.Loop() {
					w := httptest.NewRecorder()
					if handler.ServeHTTP(w, r); w.Code != http.StatusOK {
						b.Fatal(w.Code, w.Body)
					}
				}
			})
		}
	})
}
