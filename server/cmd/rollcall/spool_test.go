package main

import (
	"fmt"
	"net/http"
	"net/smtp"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// pingIs sends a ping and compares the status of the answer.
func pingIs(t *testing.T, p *process, path string, want int) {
	t.Helper()
	if status, text, err := (request{method: http.MethodPost, url: p.url + path}).do(); status != want || err != nil {
		t.Fatalf("%s: status %d, want %d: %s %v", path, status, want, text, err)
	}
}

// TestSpoolWithoutDatabase takes PostgreSQL away from a server, kills the server, and starts it again before PostgreSQL.
// All pings are taken, by HTTP and by e-mail, and recorded once PostgreSQL is back.
func TestSpoolWithoutDatabase(t *testing.T) {
	pg := dbtest.Server(t)
	url, err := pg.Create(t.Context(), "spool")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--spool", t.TempDir(), "--smtp-listen", "127.0.0.1:0", "--ping-email-domain", "ping.example.org"}
	p := start(t, url, args...)
	key := keyOf(t, p)
	c := createCheck(t, p, key, "job")
	pingIs(t, p, "/ping/"+c.UUID, 200)

	pg.Stop()
	pingIs(t, p, "/ping/"+c.UUID, 200)
	pingIs(t, p, "/ping/"+c.UUID+"/300", 400)
	_, after, _ := strings.Cut(p.stdout.String(), "accepting e-mail for ping.example.org on ")
	address, _, _ := strings.Cut(after, "\n")
	message := []byte("Subject: done\r\n\r\ndone\r\n")
	if err := smtp.SendMail(address, nil, "job@example.org", []string{c.UUID + "@ping.example.org"}, message); err != nil {
		t.Fatal(err)
	}
	pingIs(t, p, "/readyz", 405)
	status, text, err := (request{method: http.MethodGet, url: p.url + "/readyz?verbose"}).do()
	if err != nil || status != 200 || !strings.Contains(text, "spool: ok, holds 2 pings") {
		t.Errorf("readiness: %d %s %v", status, text, err)
	}
	p.kill()

	p = start(t, url, args...)
	for i := range 3 {
		pingIs(t, p, fmt.Sprintf("/ping/%s/%d", c.UUID, i), 200)
	}
	for _, path := range []string{"/api/v3/checks/", "/api/v3/status/", "/badge/a/b.svg"} {
		r := request{method: http.MethodGet, url: p.url + path, header: http.Header{"X-Api-Key": {key}}}
		if status, _, err := r.do(); status < 404 || err != nil {
			t.Errorf("%s without a database: %d %v", path, status, err)
		}
	}
	if state, err := p.stop(syscall.SIGTERM); err != nil || !state.Success() {
		t.Fatalf("%v %v\n%s", state, err, p.stderr.String())
	}
	p = start(t, url, args...)
	pingIs(t, p, "/ping/"+c.UUID, 200)
	if err := pg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	counted := func() bool {
		r := request{method: http.MethodGet, url: p.url + "/api/v3/checks/" + c.UUID, header: http.Header{"X-Api-Key": {key}}}
		_, text, _ := r.do()
		return strings.Contains(text, `"n_pings":7,`) || strings.Contains(text, `"n_pings": 7,`)
	}
	if !eventually(patience, counted) {
		t.Fatalf("the check does not have 7 pings\n%s", p.stderr.String())
	}
	pingIs(t, p, "/ping/"+c.UUID, 200)
	if count := strings.Count(p.stdout.String(), "listening on"); count != 1 {
		t.Errorf("the address was printed %d times", count)
	}
}

// TestFaultsOfTheDatabase breaks a database on PostgreSQL that still answers. A server without a spool answers 503 with
// Retry-After. One with a spool takes all pings, also if it starts meanwhile, and records them when the fault is mended.
func TestFaultsOfTheDatabase(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	admin := db.Bun(t)
	exec := func(statement string) {
		t.Helper()
		if _, err := admin.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--spool", t.TempDir()}
	p, plain := start(t, db.URL, args...), start(t, db.URL)
	key := keyOf(t, p)
	c := createCheck(t, p, key, "job")
	want := 0
	for _, table := range []string{"rollcall_pings", "rollcall_projects", "rollcall_settings"} {
		exec("ALTER TABLE " + table + " RENAME TO lost")
		for _, again := range []bool{false, true} {
			if again {
				p.kill()
				p = start(t, db.URL, args...)
			}
			for range 5 {
				pingIs(t, p, "/ping/"+c.UUID, 200)
				want++
			}
		}
		if table == "rollcall_pings" {
			r := request{method: http.MethodPost, url: plain.url + "/ping/" + c.UUID}
			if status, text, err := r.do(); status != 503 || err != nil {
				t.Errorf("without a spool: %d %s %v", status, text, err)
			}
		}
		exec("ALTER TABLE lost RENAME TO " + table)
		recorded := func() bool {
			r := request{method: http.MethodGet, url: p.url + "/api/v3/checks/" + c.UUID, header: http.Header{"X-Api-Key": {key}}}
			_, text, _ := r.do()
			return strings.Contains(strings.ReplaceAll(text, " ", ""), fmt.Sprintf(`"n_pings":%d,`, want))
		}
		if !eventually(patience, recorded) {
			t.Fatalf("the check does not have %d pings after the loss of %s\n%s", want, table, p.stderr.String())
		}
	}
}

// TestReplacedFile replaces the database of a server on SQLite. Within a second or two it acknowledges no ping any more, and says
// what to do. A start on the new file works.
func TestReplacedFile(t *testing.T) {
	db := dbtest.SQLite(t)
	p := start(t, db.URL)
	key := keyOf(t, p)
	c := createCheck(t, p, key, "job")
	pingIs(t, p, "/ping/"+c.UUID, 200)
	if out, err := exec.CommandContext(t.Context(), "rollcall", "--database", db.URL, "backup", db.Path()+".backup").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Rename(db.Path()+".backup", db.Path()); err != nil {
		t.Fatal(err)
	}
	refused := func() bool {
		status, _, _ := (request{method: http.MethodPost, url: p.url + "/ping/" + c.UUID}).do()
		return status == 503
	}
	if !eventually(patience, refused) {
		t.Fatal("pings are still acknowledged")
	}
	status, text, err := (request{method: http.MethodGet, url: p.url + "/readyz"}).do()
	if err != nil || status != 503 || !strings.Contains(text, "database: its file was replaced or removed") {
		t.Errorf("readiness: %d %s %v", status, text, err)
	}
	if !strings.Contains(p.stderr.String(), "stop the server, put the right file there, and start the server again") {
		t.Errorf("the log does not say what to do: %s", p.stderr.String())
	}
}

// TestDamagedFile starts a server with a spool on a damaged database. It takes pings, and says what is wrong.
func TestDamagedFile(t *testing.T) {
	db := dbtest.SQLite(t)
	administer(t, db, "project", "create", "p")
	p := start(t, "sqlite:"+damage(t, db.Path()), "--spool", t.TempDir())
	pingIs(t, p, "/ping/4d7bb3a8-9a3f-4d6c-8c0e-3c1ef1c0a111", 200)
	status, text, err := (request{method: http.MethodGet, url: p.url + "/readyz?verbose"}).do()
	if err != nil || status != 200 || !strings.Contains(text, "database: is damaged: restore a backup; pings go to the spool") {
		t.Errorf("readiness: %d %s %v", status, text, err)
	}
}

// TestSpoolFlags refuses spools that cannot be opened.
func TestSpoolFlags(t *testing.T) {
	db, dir := dbtest.SQLite(t), t.TempDir()
	start(t, db.URL, "--spool", dir)
	if _, err := startProcess(cleanEnv(), t.TempDir(), "--database", db.URL, "--spool", dir); err == nil || !strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("a second server on one spool: %v", err)
	}
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--spool", file}, {"--spool-size", "100"}, {"--spool-wait", "48h"}, {"--spool-wait", "0s"}} {
		if _, err := startProcess(cleanEnv(), t.TempDir(), append(args, "--database", db.URL)...); err == nil || !strings.Contains(err.Error(), args[0]) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestNewerVersion has a newer version migrate the database beside two servers. Both record pings as long as they can, also after a
// restart. When they cannot, one takes them into its spool, and the other answers 503; both say why.
func TestNewerVersion(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		db = db.Plain(t)
		const newer = "a newer version of rollcall has migrated this database"
		spools := []string{"--spool", t.TempDir()}
		spooling, plain := start(t, db.URL, spools...), start(t, db.URL)
		key := keyOf(t, spooling)
		c := createCheck(t, spooling, key, "job")
		restart := func() {
			spooling.kill()
			plain.kill()
			spooling, plain = start(t, db.URL, spools...), start(t, db.URL)
		}
		exec := func(statement string) {
			t.Helper()
			if _, err := db.Bun(t).ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		exec("UPDATE rollcall_schema SET version = version + 1")
		for range 2 {
			for _, p := range []*process{spooling, plain} {
				pingIs(t, p, "/ping/"+c.UUID, 200)
				if status, text, err := (request{method: http.MethodGet, url: p.url + "/readyz?verbose"}).do(); status != 200 || !strings.Contains(text, newer) {
					t.Errorf("readiness: %d %s %v", status, text, err)
				}
			}
			restart()
		}
		if !eventually(patience, func() bool { return strings.Contains(plain.stderr.String(), newer) }) {
			t.Errorf("the log does not say so: %s", plain.stderr.String())
		}
		exec("ALTER TABLE rollcall_pings RENAME COLUMN ua TO lost")
		for range 2 {
			pingIs(t, spooling, "/ping/"+c.UUID, 200)
			pingIs(t, plain, "/ping/"+c.UUID, 503)
			said := func() bool {
				pingIs(t, plain, "/ping/"+c.UUID, 503)
				status, text, _ := (request{method: http.MethodGet, url: plain.url + "/readyz"}).do()
				return status == 503 && strings.Contains(text, newer) && strings.Contains(plain.stderr.String(), newer)
			}
			if !eventually(patience, said) {
				t.Errorf("nobody is told why: %s", plain.stderr.String())
			}
			restart()
		}
		exec("ALTER TABLE rollcall_pings RENAME COLUMN lost TO ua")
		recorded := func() bool {
			r := request{method: http.MethodGet, url: plain.url + "/api/v3/checks/" + c.UUID, header: http.Header{"X-Api-Key": {key}}}
			_, text, _ := r.do()
			return strings.Contains(strings.ReplaceAll(text, " ", ""), `"n_pings":6,`)
		}
		if !eventually(patience, recorded) {
			t.Errorf("pings are missing\n%s", spooling.stderr.String())
		}
	})
}
