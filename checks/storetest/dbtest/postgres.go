package dbtest

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
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// cluster is a PostgreSQL server of this test process.
type cluster struct {
	once      sync.Once
	err       error
	dir       string
	cmd       *exec.Cmd
	url       string // without the name of a database
	databases atomic.Int64
}

var errNoServer = errors.New("PostgreSQL's server programs are not installed (Debian: apt-get install postgresql)")

// serverProgram finds a program of PostgreSQL's server, in PATH or where Debian and others install it.
func serverProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.EvalSymlinks(path)
	}
	var found []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/", "/usr/pgsql-*/bin/", "/usr/local/opt/postgresql*/bin/", "/opt/homebrew/opt/postgresql*/bin/"} {
		matches, _ := filepath.Glob(pattern + name)
		found = append(found, matches...)
	}
	if len(found) == 0 {
		return "", errNoServer
	}
	return slices.Max(found), nil
}

// start makes a cluster in a temporary directory and starts its server on a free port of the loopback interface.
func (c *cluster) start() error {
	c.once.Do(func() {
		if c.err = c.startOnce(); c.err != nil {
			c.stop()
		}
	})
	return c.err
}

func (c *cluster) startOnce() (err error) {
	initdb, err := serverProgram("initdb")
	if err != nil {
		return err
	}
	server, err := serverProgram("postgres")
	if err != nil {
		return err
	}
	attr, owner, err := unprivileged()
	if err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp("", "rollcall-pg-"); err != nil {
		return err
	}
	if owner != nil {
		if err := os.Chown(c.dir, int(owner.Uid), int(owner.Gid)); err != nil {
			return err
		}
	}
	data := filepath.Join(c.dir, "data")
	init := exec.Command(initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	init.Dir, init.SysProcAttr = c.dir, attr
	if out, err := init.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	c.cmd = exec.Command(server, "-D", data, "-c", "listen_addresses=127.0.0.1", "-c", "port="+strconv.Itoa(port),
		"-c", "unix_socket_directories="+c.dir, "-c", "fsync=off", "-c", "max_connections=200")
	c.cmd.Dir, c.cmd.SysProcAttr = c.dir, attr
	log, err := os.Create(filepath.Join(c.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	c.cmd.Stdout, c.cmd.Stderr = log, log
	if err := c.cmd.Start(); err != nil {
		return err
	}
	c.url = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/", port)
	return c.wait()
}

// wait returns when the server answers.
func (c *cluster) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open("pgx", c.url+"postgres")
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
			log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
			return fmt.Errorf("PostgreSQL did not start: %w\n%s", err, log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server and removes its files.
func (c *cluster) stop() {
	if c.cmd != nil && c.cmd.Process != nil {
		c.cmd.Process.Signal(syscall.SIGQUIT) // at once: nothing is kept
		c.cmd.Wait()
	}
	if c.dir != "" {
		os.RemoveAll(c.dir)
	}
}

// database makes a new database and returns its URL.
func (c *cluster) database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", c.databases.Add(1))
	db, err := sql.Open("pgx", c.url+"postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return c.url + name
}

// unprivileged returns how to run PostgreSQL, which refuses to run as root: as the user postgres or nobody then.
func unprivileged() (*syscall.SysProcAttr, *syscall.Credential, error) {
	attr := childAttr()
	if os.Getuid() != 0 {
		return attr, nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, nil, err
		}
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return attr, attr.Credential, nil
	}
	return nil, nil, errors.New("PostgreSQL refuses to run as root, and there is no user postgres or nobody")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
