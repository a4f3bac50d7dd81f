//go:build unix && release

package postgresha

import (
	"database/sql"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

// addresses are the last bytes of the addresses of the database machines.
var addresses = map[string]string{"db1": "1", "db2": "2"}

// TestFailover kills the machine of the primary while jobs ping. The standby takes over with all acknowledged pings, no
// check goes down, and the old primary comes back as the standby, without what only it had. Then a switchover makes it
// the primary again. Rollcall runs all the time.
func TestFailover(t *testing.T) {
	s := newSite(t)
	for machine, last := range map[string]string{"db1": "1", "db2": "2", "app": "3"} {
		s.startEtcd(machine, last)
	}
	for machine, last := range addresses {
		s.startPatroni(machine, last)
	}
	s.startHAProxy()
	var primary, standby string
	s.eventually("no primary with a synchronous standby", func() bool {
		primary, standby = s.role("primary"), s.role("sync")
		return primary != "" && standby != ""
	})
	server := s.serve()
	greeting := server.Greeting()
	jobs := startJobs(t, greeting.URL, greeting.Key, 8)
	s.more(jobs)

	s.freezeReplication(primary)
	killed := time.Now()
	s.kill("patroni-" + primary)
	s.killPostgres(primary)
	s.kill("etcd-" + primary)
	s.eventually("the standby is not promoted", func() bool { return s.role("primary") == standby })
	promoted := time.Now()
	s.more(jobs)
	_, last := jobs.progress()
	t.Logf("promoted after %v, a ping acknowledged %v later", promoted.Sub(killed).Round(10*time.Millisecond), last.Sub(promoted).Round(10*time.Millisecond))

	s.startEtcd(primary, addresses[primary])
	s.startPatroni(primary, addresses[primary])
	s.eventually("the old primary is no standby", func() bool { return s.role("sync") == primary })
	t.Logf("the old primary is the standby after %v", time.Since(promoted).Round(10*time.Millisecond))
	log, err := os.ReadFile(s.log("patroni-" + primary))
	if err != nil || !strings.Contains(string(log), "pg_rewind exit code=0") {
		t.Errorf("pg_rewind has not run: %v", err)
	}

	began := time.Now()
	s.switchover(primary)
	s.eventually("no switchover", func() bool { return s.role("primary") == primary })
	s.more(jobs)
	_, last = jobs.progress()
	t.Logf("a ping acknowledged %v after the begin of a switchover", last.Sub(began).Round(10*time.Millisecond))
	s.eventually("the other machine is no standby", func() bool { return s.role("sync") == standby })
	jobs.stop()
	jobs.audit(t)
	if _, err := server.Stop(syscall.SIGTERM); err != nil { // an error if it has exited before
		t.Error(err)
	}
}

// switchover makes a machine the primary, as the guide says.
func (s *site) switchover(machine string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), s.programs["patronictl"], "-c", s.dir+"/"+machine+".yml",
		"switchover", "rollcall", "--candidate", machine, "--force")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// role returns the machine whose Patroni answers that it has a role, or "".
func (s *site) role(role string) string {
	for machine, last := range addresses {
		c := http.Client{Timeout: 5 * time.Second}
		res, err := c.Get("http://" + s.network + last + s.replace.Replace(":8008/") + role)
		if err != nil {
			continue
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return machine
		}
	}
	return ""
}

// open connects to a database as the superuser.
func (s *site) open(host, database string) *sql.DB {
	s.t.Helper()
	db, err := sql.Open("pgx", "postgres://postgres:CHANGE-ME-1@"+host+"/"+database)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { db.Close() })
	return db
}

// serve creates the role and the database as the guide says, and starts a Rollcall server on them.
func (s *site) serve() *program.Server {
	s.t.Helper()
	env := s.environment("rollcall.env")
	u, err := url.Parse(env["ROLLCALL_DATABASE"])
	if err != nil {
		s.t.Fatal(err)
	}
	password, _ := u.User.Password()
	db := s.open(u.Host, "postgres")
	s.eventually("HAProxy has no primary", func() bool { return db.PingContext(s.t.Context()) == nil })
	for _, statement := range []string{
		"CREATE ROLE rollcall LOGIN PASSWORD '" + password + "'", "CREATE DATABASE rollcall OWNER rollcall",
	} {
		if _, err := db.ExecContext(s.t.Context(), statement); err != nil {
			s.t.Fatal(err)
		}
	}
	path, err := program.Build(s.t.Context(), s.t.TempDir())
	if err != nil {
		s.t.Fatal(err)
	}
	log, err := os.Create(s.log("rollcall"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	server := &program.Server{Path: path, Log: log}
	for name, value := range env {
		server.Env = append(server.Env, name+"="+value)
	}
	s.t.Cleanup(func() { s.show("rollcall") })
	if err := server.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(server.Kill)
	return server
}

// more waits until a ping is acknowledged.
func (s *site) more(j *jobs) {
	s.t.Helper()
	before, _ := j.progress()
	s.eventually("no ping is acknowledged", func() bool {
		count, _ := j.progress()
		return count > before
	})
}

// freezeReplication stops the primary's process that sends to the standby, and waits until the primary has written what
// the standby has not.
func (s *site) freezeReplication(primary string) {
	s.t.Helper()
	db := s.open(s.network+addresses[primary]+s.replace.Replace(":5432"), "postgres")
	var sender int
	if err := db.QueryRowContext(s.t.Context(), "SELECT pid FROM pg_stat_replication WHERE sync_state = 'sync'").Scan(&sender); err != nil {
		s.t.Fatal(err)
	}
	if err := syscall.Kill(sender, syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
	s.frozen = sender
	s.t.Cleanup(func() {
		if s.frozen != 0 { // the test has failed before it killed the machine
			_ = syscall.Kill(s.frozen, syscall.SIGKILL)
		}
	})
	s.eventually("the primary writes nothing", func() bool {
		var ahead bool
		err := db.QueryRowContext(s.t.Context(),
			"SELECT pg_current_wal_flush_lsn() > sent_lsn FROM pg_stat_replication WHERE pid = $1", sender).Scan(&ahead)
		if err != nil {
			s.t.Fatal(err)
		}
		return ahead
	})
}

// killPostgres kills all processes of the PostgreSQL server on a machine.
func (s *site) killPostgres(machine string) {
	s.t.Helper()
	server := s.postmaster(machine)
	for _, pid := range program.WithChildren(server) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) { // a process may have ended by now
			s.t.Fatal(err)
		}
	}
	s.frozen = 0
	s.eventually("PostgreSQL survives", func() bool { return syscall.Kill(server, 0) != nil })
}
