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
	"syscall"
	"time"
)

// cluster is a throwaway PostgreSQL server with the settings that it has by itself: fsync and synchronous_commit are
// on.
type cluster struct {
	url string
	cmd *exec.Cmd
}

// serverProgram finds a program of PostgreSQL's server, in PATH or where packages install it.
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
		return "", errors.New("PostgreSQL's server programs are not installed (Debian: apt-get install postgresql)")
	}
	return slices.Max(found), nil
}

// startCluster makes a cluster below a directory and starts its server on a free port of the loopback interface.
func startCluster(ctx context.Context, dir string) (*cluster, error) {
	initdb, err := serverProgram("initdb")
	if err != nil {
		return nil, err
	}
	server, err := serverProgram("postgres")
	if err != nil {
		return nil, err
	}
	attr, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	init := exec.CommandContext(ctx, initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	init.Dir, init.SysProcAttr = dir, attr
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	c := &cluster{url: fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres", port)}
	c.cmd = exec.Command(server, "-D", data, "-c", "listen_addresses=127.0.0.1", "-c", "port="+strconv.Itoa(port),
		"-c", "unix_socket_directories="+dir, "-c", "shared_buffers=512MB", "-c", "max_wal_size=4GB")
	c.cmd.Dir, c.cmd.SysProcAttr = dir, attr
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if err := c.wait(ctx); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// wait returns when the server answers.
func (c *cluster) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	db, err := sql.Open("pgx", c.url)
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
			return fmt.Errorf("PostgreSQL did not start: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server at once: nothing of it is kept.
func (c *cluster) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGQUIT)
	_ = c.cmd.Wait()
}

// used returns what the processes of the server have used so far.
func (c *cluster) used() (cpu time.Duration, written int64) { return familyUsage(c.cmd.Process.Pid) }

// unprivileged returns how to run PostgreSQL, which refuses to run as root: as the user postgres or nobody then, to
// whom the directory is given.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	attr := processAttributes()
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
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return attr, nil
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is no user postgres or nobody")
}
