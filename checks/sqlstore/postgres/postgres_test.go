package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestOpen opens an empty database twice, from two programs at once. A closed store closes its connections.
func TestOpen(t *testing.T) {
	url := dbtest.PostgreSQL(t).Plain(t).URL
	opened := make(chan error)
	for range 2 {
		go func() {
			store, err := postgres.Open(t.Context(), url)
			if err == nil {
				err = store.Close()
			}
			opened <- err
		}()
	}
	for range 2 {
		if err := <-opened; err != nil {
			t.Error(err)
		}
	}
	store, err := postgres.Open(t.Context(), url+"?application_name=jobs")
	must(t, err)
	mon, err := monitor.New(store, nil)
	must(t, err)
	_, err = mon.OpenProject(t.Context(), "jobs")
	must(t, err)
	other, err := postgres.OpenDB(url)
	must(t, err)
	defer other.Close()
	connections := func() (n int) {
		t.Helper()
		must(t, other.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'jobs'").Scan(&n))
		return n
	}
	if connections() == 0 {
		t.Error("the URL's application_name is not used")
	}
	must(t, store.Close())
	if _, err := mon.OpenProject(t.Context(), "jobs"); err == nil {
		t.Error("the store works after Close")
	}
	for connections() > 0 { // the server notices in its own time
	}
}

// TestPgxPool opens a store on a pool of pgx.
func TestPgxPool(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), dbtest.PostgreSQL(t).Plain(t).URL)
	must(t, err)
	defer pool.Close()
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	store, err := sqlstore.Open(t.Context(), bun.NewDB(db, pgdialect.New()))
	must(t, err)
	mon, err := monitor.New(store, nil)
	must(t, err)
	_, err = mon.OpenProject(t.Context(), "jobs")
	must(t, err)
	var name string
	must(t, pool.QueryRow(t.Context(), "SELECT name FROM rollcall_projects").Scan(&name))
	if name != "jobs" {
		t.Errorf("the project is %q", name)
	}
}

// TestOpenFails names a database and a user that do not exist, and a port on which nobody listens.
func TestOpenFails(t *testing.T) {
	url := dbtest.PostgreSQL(t).Plain(t).URL
	base := url[:strings.LastIndex(url, "/")]
	host := base[strings.LastIndex(base, "@")+1:]
	for _, test := range []struct{ url, want string }{
		{base + "/nosuch", "postgres: " + host + `/nosuch: database "nosuch" does not exist`},
		{"postgres://nobody:secret@" + host + "/x", "postgres: " + host + `/x: role "nobody" does not exist`},
		{url + "?pool_max_conns=4", `unrecognized configuration parameter "pool_max_conns"`},
		{"postgres://u:secret@127.0.0.1:1/x", "postgres: 127.0.0.1:1/x: dial tcp 127.0.0.1:1: connect: connection refused"},
		{"postgres://u:secret@host.invalid/x", "postgres: host.invalid:5432/x: lookup host.invalid"},
	} {
		store, err := postgres.Open(t.Context(), test.url)
		if err == nil || store != nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: store %v, error %v, want %s", test.url, store, err, test.want)
		}
		if !errors.Is(err, checks.ErrUnavailable) {
			t.Errorf("%s: error %v, want ErrUnavailable", test.url, err)
		}
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := postgres.Open(ended, url); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of ctx: error %v", err)
	}
}

// TestElsewhere connects to another server as the URL says, but for its hosts.
func TestElsewhere(t *testing.T) {
	const check = "SELECT true"
	for url, want := range map[string]string{
		"postgres://u:p%40@db:6432/x?application_name=jobs&sslmode=disable":               "u p@ jobs false",
		"postgres://u:p@db1:5432,db2:5433/x?sslmode=require":                              "u p rollcall true",
		"postgres://u:p@/x?host=/run/postgresql,other&port=5432,5433&sslmode=verify-full": "u p rollcall true w",
	} {
		config, err := postgres.Elsewhere(url, "w", 9700, check)
		must(t, err)
		got := fmt.Sprint(config.User, " ", config.Password, " ", config.RuntimeParams["application_name"], " ", config.TLSConfig != nil)
		if config.TLSConfig != nil && !config.TLSConfig.InsecureSkipVerify {
			got += " " + config.TLSConfig.ServerName
		}
		if got != want || config.Host != "w" || config.Port != 9700 || config.Database != "x" || len(config.Fallbacks) != 0 || config.ConnectTimeout != time.Second {
			t.Errorf("%s: %s at %s:%d/%s, want %s", url, got, config.Host, config.Port, config.Database, want)
		}
	}
	if _, err := postgres.Elsewhere("postgres://u@db/x", "/run/postgresql", 5432, check); err == nil {
		t.Error("a socket is taken for a host")
	}
	url := dbtest.PostgreSQL(t).Plain(t).URL
	here, err := postgres.ParseURL(url)
	must(t, err)
	for check, want := range map[string]string{
		check: "<nil>", "SELECT false": "postgres: another server answers", "SELECT none": `column "none" does not exist`,
	} {
		config, err := postgres.Elsewhere(url, here.Host, here.Port, check)
		must(t, err)
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err == nil {
			must(t, conn.Close(t.Context()))
		}
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: error %v, want %s", check, err, want)
		}
	}
}

// TestEncoding refuses databases that lack characters. The setting of a database for clients does not matter.
func TestEncoding(t *testing.T) {
	admin := dbtest.PostgreSQL(t).Plain(t).URL
	base := admin[:strings.LastIndex(admin, "/")]
	pool, err := postgres.OpenDB(admin)
	must(t, err)
	t.Cleanup(func() { must(t, pool.Close()) })
	for encoding, want := range map[string]string{
		"SQL_ASCII": "the database does not have the encoding UTF8 but SQL_ASCII; create one with createdb -E UTF8 -T template0",
		"LATIN1":    "the database does not have the encoding UTF8 but LATIN1; create one with createdb -E UTF8 -T template0",
		"UTF8":      "<nil>",
	} {
		name := "encoding_" + strings.ToLower(encoding)
		_, err := pool.Exec("CREATE DATABASE " + name + " TEMPLATE template0 LOCALE 'C' ENCODING '" + encoding + "'")
		must(t, err)
		t.Cleanup(func() {
			_, err := pool.Exec("DROP DATABASE " + name + " WITH (FORCE)")
			must(t, err)
		})
		_, err = pool.Exec("ALTER DATABASE " + name + " SET client_encoding = LATIN1")
		must(t, err)
		store, err := postgres.Open(t.Context(), base+"/"+name)
		if fmt.Sprint(err) != want || (err != nil) != errors.Is(err, sqlstore.ErrEncoding) {
			t.Errorf("%s: error %v, want %s", encoding, err, want)
		}
		if err != nil {
			continue
		}
		mon, err := monitor.New(store, nil)
		must(t, err)
		_, err = mon.OpenProject(t.Context(), "Käse 🧀")
		must(t, err)
		project, err := mon.Projects().ByName(t.Context(), "Käse 🧀")
		must(t, err)
		if project.Name != "Käse 🧀" {
			t.Errorf("the project is %q", project.Name)
		}
		must(t, store.Close())
	}
}

// TestParseURL reads URLs, and refuses others without showing the password.
func TestParseURL(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://u:pw@db.example.org/x":                "db.example.org 5432 x pw rollcall 10s",
		"postgresql://u:p%40w@localhost:1/x":              "localhost 1 x p@w rollcall 10s",
		"postgres://h/x?application_name=jobs":            "h 5432 x  jobs 10s",
		"postgres://h/x?connect_timeout=3&sslmode=prefer": "h 5432 x  rollcall 3s",
	} {
		config, err := postgres.ParseURL(url)
		must(t, err)
		got := fmt.Sprint(config.Host, " ", config.Port, " ", config.Database, " ", config.Password, " ", config.RuntimeParams["application_name"], " ", config.ConnectTimeout)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", url, diff)
		}
	}
	for _, url := range []string{
		"", "host=localhost password=secret", "mysql://u:secret@h/x", "jobs.db", "POSTGRES://u:secret@h/x", "postgres:u@h/x",
		"postgres://u:secret@@h/x", "postgres://u:se#cret@h/x", "postgres://u:secret/@h/x", "postgres://u:secret@h/x?sslmode=perhaps",
		"postgres://u:secret@h/x?connect_timeout=soon", "postgres://u:secret@h:port/x", "postgres://u@h/x?password",
	} {
		if _, err := postgres.ParseURL(url); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "cret@") {
			t.Errorf("%q: error %v", url, err)
		}
	}
}

// TestExplain explains nothing that the database did not say.
func TestExplain(t *testing.T) {
	for _, err := range []error{nil, errors.New("other"), context.Canceled} {
		if got := postgres.Explain(err); got != "" {
			t.Errorf("%v is explained as %q", err, got)
		}
	}
}
