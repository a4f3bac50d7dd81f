package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// TestBackupWhileServing makes backups while a server accepts pings. A server can start on each backup. Each has, without
// gaps, every ping that was acknowledged before the backup began.
func TestBackupWhileServing(t *testing.T) {
	const backups, jobs, each = 3, 4, 300 // the log keeps 1,000 pings
	db := dbtest.SQLite(t)
	p := start(t, db.URL)
	key := keyOf(t, p)
	c := createCheck(t, p, key, "job")
	dir := t.TempDir()
	var acknowledged sync.Map
	var count atomic.Int64
	stop, turns := make(chan struct{}), make(chan struct{}, backups*each)
	var wg sync.WaitGroup
	for job := range jobs {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-turns:
				}
				name := fmt.Sprintf("job %d ping %d", job, n)
				r := request{method: http.MethodPost, url: p.url + "/ping/" + c.UUID, body: name, header: http.Header{"User-Agent": {name}}}
				if status, body, err := r.do(); err != nil || status != http.StatusOK {
					t.Errorf("%s: %d %s %v", name, status, body, err)
					return
				}
				acknowledged.Store(name, true)
				count.Add(1)
			}
		})
	}
	before := make([]map[string]bool, backups)
	for i := range backups {
		for range each {
			turns <- struct{}{}
		}
		if !eventually(patience, func() bool { return count.Load() >= int64(each*i+50) }) {
			t.Fatal("no pings are acknowledged")
		}
		before[i] = map[string]bool{}
		acknowledged.Range(func(name, _ any) bool { before[i][name.(string)] = true; return true })
		administer(t, db, "backup", filepath.Join(dir, fmt.Sprint(i)))
	}
	close(stop)
	wg.Wait()
	p.kill()
	for i := range backups {
		restored := start(t, "sqlite:"+filepath.Join(dir, fmt.Sprint(i)))
		checkLog(t, restored, key, c, before[i])
		restored.kill()
	}
	// Restore as the help of the command says.
	file := db.Path()
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(file + suffix); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(filepath.Join(dir, "1"))
	if err == nil {
		err = os.WriteFile(file, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	checkLog(t, start(t, db.URL), key, c, before[1])
}

// TestBackupFiles: a backup is complete and private, and never replaces another file.
func TestBackupFiles(t *testing.T) {
	db := dbtest.SQLite(t)
	administer(t, db, "project", "create", "p")
	dir := t.TempDir()
	file := filepath.Join(dir, "a b#?%20ü.db")
	var document struct {
		File  string
		Bytes int64
	}
	if err := json.Unmarshal([]byte(administer(t, db, "backup", "--json", file)), &document); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || document.File != file || document.Bytes != info.Size() || info.Mode().Perm() != 0o600 {
		t.Errorf("%+v, %+v, %v", document, info, err)
	}
	original := db.Path()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), link); err != nil {
		t.Fatal(err)
	}
	for _, taken := range []string{file, original, dir, link} {
		if _, stderr, status := rollcall("--database", db.URL, "backup", taken); status != console.ExitError || !strings.Contains(stderr, "the file exists already") {
			t.Errorf("%s: status %d, %s", taken, status, stderr)
		}
	}
	for what, c := range map[string]struct {
		database, file, want string
		status               int
	}{
		"no such directory": {db.URL, filepath.Join(dir, "none", "x"), "no such file or directory", console.ExitError},
		"no database":       {"sqlite:" + filepath.Join(dir, "none"), filepath.Join(dir, "x"), "no such file; rollcall serve", console.ExitError},
		"not a database":    {"sqlite:" + writeFile(t, "this is no database, however long it may be"), filepath.Join(dir, "x"), "is not an SQLite database", console.ExitError},
		"empty":             {"sqlite:" + writeFile(t, ""), filepath.Join(dir, "x"), "no rollcall tables", console.ExitError},
		"PostgreSQL":        {"postgres://u:secret@127.0.0.1/x", filepath.Join(dir, "x"), "pg_dump", console.ExitUsage},
	} {
		_, stderr, status := rollcall("--database", c.database, "backup", c.file)
		if status != c.status || !strings.Contains(stderr, c.want) || strings.Contains(stderr, "secret") {
			t.Errorf("%s: status %d, %s", what, status, stderr)
		}
	}
	var names []string
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if diff := cmp.Diff([]string{filepath.Base(file), "link"}, names); err != nil || diff != "" {
		t.Errorf("%v, files (-want +got):\n%s", err, diff)
	}
	// backup fails on a damaged database.
	damaged := "sqlite:" + damage(t, original)
	if _, stderr, status := rollcall("--database", damaged, "backup", filepath.Join(dir, "y")); status != console.ExitError || !strings.Contains(stderr, "damaged") {
		t.Errorf("a damaged database: status %d, %s", status, stderr)
	}
	// The backup of a database of a later version works.
	if _, err := db.Bun(t).ExecContext(t.Context(), "UPDATE rollcall_schema SET version = 1000"); err != nil {
		t.Fatal(err)
	}
	administer(t, db, "backup", filepath.Join(dir, "z"))
}

// TestBackupRotation: a backup each night works each night, by a directory and by a name that is replaced.
func TestBackupRotation(t *testing.T) {
	db := dbtest.SQLite(t)
	administer(t, db, "project", "create", "p")
	dir := filepath.Join(t.TempDir(), "backups")
	var last struct {
		File    string
		Removed []string
	}
	others := []string{"rollcall-2026.db", "rollcall.db", ".rollcall.tmp", "rollcall-99991231T235959.000Z.db.old"}
	var made []string
	for night := range 4 {
		if err := json.Unmarshal([]byte(administer(t, db, "backup", "--keep", "2", "--json", dir)), &last); err != nil {
			t.Fatal(err)
		}
		made = append(made, last.File)
		var removed []string
		if night >= 2 {
			removed = []string{made[night-2]}
		}
		if diff := cmp.Diff(removed, last.Removed, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("night %d, removed (-want +got):\n%s", night, diff)
		}
		if night == 0 {
			for _, name := range others {
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	// A clock that has gone back, and the draft of a crash.
	for _, name := range []string{"rollcall-99991231T235959.000Z.db", ".rollcall-20260101T000000.000Z.db.123.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Unmarshal([]byte(administer(t, db, "backup", "--keep", "1", "--json", dir)), &last); err != nil {
		t.Fatal(err)
	}
	if len(last.Removed) != 3 {
		t.Errorf("removed %q", last.Removed)
	}
	var names []string
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	want := append(others, filepath.Base(last.File))
	slices.Sort(want)
	if diff := cmp.Diff(want, names); err != nil || diff != "" {
		t.Errorf("%v, files (-want +got):\n%s", err, diff)
	}

	file := filepath.Join(t.TempDir(), "one.db")
	for range 2 {
		administer(t, db, "backup", "--force", file)
	}
	administer(t, dbtest.DB{URL: "sqlite:" + file}, "project", "delete", "p")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(db.Path(), link); err != nil {
		t.Fatal(err)
	}
	for _, taken := range []string{db.Path(), link} {
		if _, stderr, status := rollcall("--database", db.URL, "backup", "--force", taken); status != console.ExitError || !strings.Contains(stderr, "belongs to the database itself") {
			t.Errorf("%s: status %d, %s", taken, status, stderr)
		}
	}
	for _, args := range [][]string{{"--force", "--keep", "2", dir}, {"--keep", "-1", dir}} {
		if _, stderr, status := rollcall(append([]string{"--database", db.URL, "backup"}, args...)...); status != console.ExitUsage {
			t.Errorf("%q: status %d, %s", args, status, stderr)
		}
	}
	administer(t, db, "project", "delete", "p")
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// damage returns a copy of a database in which most pages are overwritten.
func damage(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 8192; i < len(content); i++ {
		content[i] = 0xA5
	}
	return writeFile(t, string(content))
}

// TestRestoreWhileJobsWentOn restores a backup that missed pings. Their checks go down at their deadlines, and up at their
// next pings.
func TestRestoreWhileJobsWentOn(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		db = db.Plain(t)
		clock := dbtest.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		begin := clock.Now()
		mon := monitorAt(t, db, clock)
		project, err := mon.OpenProject(t.Context(), "jobs")
		if err != nil {
			t.Fatal(err)
		}
		hourly := mustCreate(t, project, checks.Spec{Name: new("hourly"), Timeout: new(time.Hour), Grace: new(10 * time.Minute)})
		daily := mustCreate(t, project, checks.Spec{Name: new("daily"), Timeout: new(24 * time.Hour), Grace: new(time.Hour)})
		mustPing(t, mon, hourly)
		mustPing(t, mon, daily)
		clock.Advance(10 * time.Minute)
		restored := copyOf(t, db)

		// The jobs go on, and then the database is lost.
		for range 5 {
			clock.Advance(50 * time.Minute)
			mustPing(t, mon, hourly)
		}
		clock.Advance(5 * time.Minute)
		mon = monitorAt(t, restored, clock)
		if err := mon.Tick(t.Context()); err != nil {
			t.Error(err)
		}
		wantState(t, mon, hourly, checks.StatusDown, 1, []flips.Flip{{At: begin.Add(70 * time.Minute), Reason: flips.Overdue}, {At: begin, Up: true, Reason: flips.Success}})
		wantState(t, mon, daily, checks.StatusUp, 1, []flips.Flip{{At: begin, Up: true, Reason: flips.Success}})
		mustPing(t, mon, hourly)
		wantState(t, mon, hourly, checks.StatusUp, 2, []flips.Flip{{At: clock.Now(), Up: true, Reason: flips.Success}, {At: begin.Add(70 * time.Minute), Reason: flips.Overdue}, {At: begin, Up: true, Reason: flips.Success}})
		if err := mon.Tick(t.Context()); err != nil {
			t.Error(err)
		}
		wantState(t, mon, hourly, checks.StatusUp, 2, []flips.Flip{{At: clock.Now(), Up: true, Reason: flips.Success}, {At: begin.Add(70 * time.Minute), Reason: flips.Overdue}, {At: begin, Up: true, Reason: flips.Success}})
	})
}

func monitorAt(t *testing.T, db dbtest.DB, clock *dbtest.Clock) *monitor.Monitor {
	t.Helper()
	mon, err := monitor.New(db.Open(t), &monitor.Config{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	return mon
}

func mustCreate(t *testing.T, project *monitor.Project, spec checks.Spec) checks.Check {
	t.Helper()
	c, err := project.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return *c.Check
}

func mustPing(t *testing.T, mon *monitor.Monitor, c checks.Check) {
	t.Helper()
	if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success, Body: []byte("\x00\xff done")}); err != nil {
		t.Fatal(err)
	}
}

// wantState compares the state of a check, the number of its pings, and its flips.
func wantState(t *testing.T, mon *monitor.Monitor, c checks.Check, status checks.Status, count int64, want []flips.Flip) {
	t.Helper()
	now, err := mon.Check(t.Context(), c.ID)
	if err != nil || now.Status(mon.Now()) != status || now.NPings != count {
		t.Errorf("%s is %s with %d pings, %v; want %s with %d", c.Name, now.Status(mon.Now()), now.NPings, err, status, count)
	}
	list, err := checks.Collect(mon.Project(c.ProjectID).Flips(t.Context(), c.ID, flips.Range{}))
	if diff := cmp.Diff(want, list); err != nil || diff != "" {
		t.Errorf("flips of %s: %v (-want +got):\n%s", c.Name, err, diff)
	}
}

// copyOf backs up a database as the help documents it, and restores it as another.
func copyOf(t *testing.T, db dbtest.DB) dbtest.DB {
	t.Helper()
	file := filepath.Join(t.TempDir(), "backup")
	if db.Name == "sqlite" {
		administer(t, db, "backup", file)
		return dbtest.DB{Name: db.Name, URL: "sqlite:" + file}
	}
	postgresProgram(t, "pg_dump", "--format=custom", "--file="+file, db.URL)
	restored := dbtest.PostgreSQL(t).Plain(t)
	// Twice: into an empty database, and over an existing one.
	for range 2 {
		postgresProgram(t, "pg_restore", "--clean", "--if-exists", "--single-transaction", "--no-owner", "--dbname="+restored.URL, file)
	}
	return restored
}

// postgresProgram runs a program of PostgreSQL.
func postgresProgram(t *testing.T, name string, args ...string) {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
		switch {
		case len(found) > 0:
			program = slices.Max(found)
		case os.Getenv("ROLLCALL_TEST_REQUIRE") == "all":
			t.Fatal(err)
		default:
			t.Skip(err)
		}
	}
	if output, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, output)
	}
}
