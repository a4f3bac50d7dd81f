package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// errNoPostgres says that there is nothing to run PostgreSQL with.
var errNoPostgres = errors.New("PostgreSQL's server programs are not installed (Debian: apt-get install postgresql)")

// postgres is a PostgreSQL server of this process, which is broken off and started again as the tests please.
type postgres struct {
	program string // the path of the server's binary
	dir     string
	attr    *syscall.SysProcAttr
	port    int

	mu  sync.Mutex
	cmd *exec.Cmd // nil while it is stopped
}

// newPostgres makes a cluster in a directory and starts it.
func newPostgres(ctx context.Context, dir string) (*postgres, error) {
	initdb, err := serverProgram("initdb")
	if err != nil {
		return nil, err
	}
	p := &postgres{dir: dir}
	if p.program, err = serverProgram("postgres"); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := p.chooseUser(); err != nil {
		return nil, err
	}
	initialize := exec.CommandContext(ctx, initdb, "-D", p.data(), "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync")
	initialize.Dir, initialize.SysProcAttr = dir, p.attr
	if out, err := initialize.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if p.port, err = freePort(); err != nil {
		return nil, err
	}
	return p, p.start(ctx)
}

func (p *postgres) data() string { return filepath.Join(p.dir, "data") }

// serverProgram finds a program of PostgreSQL's server, in PATH or where distributions install it.
func serverProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.EvalSymlinks(path)
	}
	var found []string
	for _, dir := range []string{"/usr/lib/postgresql/*/bin/", "/usr/pgsql-*/bin/", "/opt/homebrew/opt/postgresql*/bin/"} {
		matches, _ := filepath.Glob(dir + name)
		found = append(found, matches...)
	}
	if len(found) == 0 {
		return "", errNoPostgres
	}
	return slices.Max(found), nil
}

// chooseUser finds who is to run the server, which refuses to run as root.
func (p *postgres) chooseUser() error {
	p.attr = childAttr()
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2, os.Chown(p.dir, int(uid), int(gid))); err != nil {
			return err
		}
		p.attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return nil
	}
	return errors.New("PostgreSQL refuses to run as root, and there is no user postgres or nobody")
}

// url returns the address of a database.
func (p *postgres) url(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s", p.port, database)
}

// start starts the server and returns when it answers.
func (p *postgres) start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	log, err := os.OpenFile(filepath.Join(p.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	// Without fsync: only processes are killed here, not the machine.
	cmd := exec.Command(p.program, "-D", p.data(), "-c", "listen_addresses=127.0.0.1", "-c", "port="+strconv.Itoa(p.port),
		"-c", "unix_socket_directories="+p.dir, "-c", "fsync=off", "-c", "max_connections=200")
	cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = p.dir, p.attr, log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd = cmd
	db, err := sql.Open("pgx", p.url("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL did not start, see %s: %w", log.Name(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server as "pg_ctl stop -m immediate" does: no transaction is finished, and the next start recovers
// from the log.
func (p *postgres) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	_ = p.cmd.Wait()
	p.cmd = nil
}

// create makes a new database and returns its address.
func (p *postgres) create(ctx context.Context, name string) (string, error) {
	db, err := sql.Open("pgx", p.url("postgres"))
	if err != nil {
		return "", err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "CREATE DATABASE "+name)
	return p.url(name), err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
