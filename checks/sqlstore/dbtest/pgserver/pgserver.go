// Package pgserver runs throwaway PostgreSQL servers for tests, and for programs that measure or torture:
//
//	server, err := pgserver.New(ctx, dir, "fsync=off")
//	defer server.Stop()
//	url, err := server.Create(ctx, "jobs")
//
// A server can have a standby that takes over:
//
//	standby, err := server.Standby(ctx, otherDir)
//	defer standby.Stop()
//	err = server.Synchronize(ctx) // commits wait for the standby
//	server.Kill()
//	err = standby.Promote(ctx)
//	_, err = server.Rejoin(ctx, standby)
//
// [NewCitus] starts several as a cluster of Citus.
//
// It needs PostgreSQL's server programs, in PATH or where packages install them.
package pgserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// ErrNotInstalled means that PostgreSQL's server programs are missing. Its text says how to get them.
var ErrNotInstalled = errors.New("PostgreSQL's server programs are not installed (Debian: apt-get install postgresql)")

// startTime bounds the start of a server.
const startTime = 3 * time.Minute

// Server is a PostgreSQL server that belongs to this process. Its port on the loopback interface stays the same. The
// user is postgres, without a password.
type Server struct {
	dir     string
	program string // path of the server's binary
	attr    *syscall.SysProcAttr
	port    int

	mu  sync.Mutex
	cmd *exec.Cmd // nil while stopped
}

// New creates a cluster in a directory, which it makes if need be, and starts its server with settings of the form
// name=value. If this process runs as root, the directory is given to the user that the server runs as. The error is
// [ErrNotInstalled] if PostgreSQL is missing. The caller stops the server and removes the directory.
func New(ctx context.Context, dir string, settings ...string) (*Server, error) {
	initdb, err := find("initdb")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if s.program, err = find("postgres"); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if s.attr, err = unprivileged(dir); err != nil {
		return nil, err
	}
	initialize := exec.CommandContext(ctx, initdb, "-D", s.data(), "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync")
	initialize.Dir, initialize.SysProcAttr = dir, s.attr
	if out, err := initialize.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if err := s.configure("postgresql.conf", settings...); err != nil {
		return nil, err
	}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	if err := s.Start(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// configure adds settings to a file of the cluster, where every one of PostgreSQL's programs finds them.
func (s *Server) configure(file string, settings ...string) error {
	f, err := os.OpenFile(filepath.Join(s.data(), file), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		_, failed := fmt.Fprintf(f, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
		err = errors.Join(err, failed)
	}
	return errors.Join(err, f.Close())
}

// find looks for one of PostgreSQL's server programs, in PATH and where Debian and others install it.
func find(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.EvalSymlinks(path)
	}
	var found []string
	for _, dir := range []string{
		"/usr/lib/postgresql/*/bin/", "/usr/pgsql-*/bin/",
		"/usr/local/opt/postgresql*/bin/", "/opt/homebrew/opt/postgresql*/bin/",
	} {
		matches, _ := filepath.Glob(dir + name)
		found = append(found, matches...)
	}
	if len(found) == 0 {
		return "", ErrNotInstalled
	}
	return slices.Max(found), nil
}

// unprivileged returns how to run PostgreSQL, which refuses to run as root: as user postgres or nobody, who gets the
// directory.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	attr := childAttr()
	if os.Getuid() != 0 {
		return attr, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(errUID, errGID, os.Chown(dir, int(uid), int(gid))); err != nil {
			return nil, err
		}
		runAs(attr, uint32(uid), uint32(gid))
		return attr, nil
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is no user postgres or nobody")
}

// Start starts a stopped server, and returns once it answers, at the latest after three minutes.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.program, "-D", s.data(), "-c", "listen_addresses=127.0.0.1", "-c", "port="+strconv.Itoa(s.port),
		"-c", "unix_socket_directories="+s.dir)
	cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = s.dir, s.attr, log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd = cmd
	return s.wait(ctx)
}

// wait returns once the server answers.
func (s *Server) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	db, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("PostgreSQL did not start: %w\n%s", err, log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the server like "pg_ctl stop -m immediate": no transaction is finished, and the next start recovers from
// the log. It does nothing if the server is stopped.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGQUIT)
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Port returns the port of the server.
func (s *Server) Port() int { return s.port }

// PID returns the process ID of the server, or 0 while it is stopped.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// URL returns the URL of a database.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s", s.address(), database)
}

// Create creates a database and returns its URL. The name must be an SQL identifier.
func (s *Server) Create(ctx context.Context, name string) (string, error) {
	return s.Copy(ctx, "template1", name)
}

// Copy creates a database that is a copy of another one, to which nobody may be connected, and returns its URL.
func (s *Server) Copy(ctx context.Context, of, name string) (string, error) {
	return s.URL(name), s.exec(ctx, "postgres", "CREATE DATABASE "+name+" TEMPLATE "+of)
}

// freePort returns a port on which nobody listens, below those that systems give to clients: the port must still be free
// when a killed server starts again.
func freePort() (int, error) {
	for {
		port := 10_000 + rand.IntN(20_000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return 0, err
		}
		return port, l.Close()
	}
}
