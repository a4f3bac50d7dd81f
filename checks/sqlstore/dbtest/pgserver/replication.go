package pgserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// URLs returns the URL of a database on several servers, of which clients use the one that takes writes.
func URLs(database string, servers ...*Server) string {
	hosts := make([]string, len(servers))
	for i, s := range servers {
		hosts[i] = s.address()
	}
	return fmt.Sprintf("postgres://postgres@%s/%s?target_session_attrs=read-write", strings.Join(hosts, ","), database)
}

// Standby copies the running server into another directory by a base backup, and starts the copy as its standby, with
// streaming replication and the same settings. The caller stops the standby too, and removes its directory.
func (s *Server) Standby(ctx context.Context, dir string) (*Server, error) {
	standby := &Server{dir: dir, program: s.program}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	if standby.attr, err = unprivileged(dir); err != nil {
		return nil, err
	}
	if standby.port, err = freePort(); err != nil {
		return nil, err
	}
	if err := standby.copyFrom(ctx, s); err != nil {
		return nil, err
	}
	if err := standby.follow(ctx, s); err != nil {
		standby.Stop()
		return nil, err
	}
	return standby, nil
}

// Rejoin starts the server as a standby of another one that has taken over. Before that it takes back by pg_rewind what
// the server wrote and the other one never received. If pg_rewind cannot, Rejoin makes a new base backup and returns its
// error. The server must be stopped or killed. pg_rewind needs the setting wal_log_hints=on, and wal_keep_size for what
// is written between a failover and the next.
func (s *Server) Rejoin(ctx context.Context, primary *Server) (unwound, err error) {
	// pg_rewind compares the timelines of the last checkpoints.
	if err := primary.exec(ctx, "postgres", "CHECKPOINT"); err != nil {
		return nil, err
	}
	unwound = s.tool(ctx, "pg_rewind", "-D", s.data(), "--source-server", primary.conninfo()+" dbname=postgres", "--no-sync")
	if unwound != nil {
		err := errors.Join(os.RemoveAll(s.data()), s.copyFrom(ctx, primary))
		if err != nil {
			return unwound, err
		}
	}
	return unwound, s.follow(ctx, primary)
}

// copyFrom fills the server's empty directory from another server.
func (s *Server) copyFrom(ctx context.Context, primary *Server) error {
	return s.tool(ctx, "pg_basebackup", "-D", s.data(), "-d", primary.conninfo(), "-c", "fast", "--no-sync")
}

// follow starts the server as a standby. ALTER SYSTEM's settings are those of the primary, of which the names of its
// standbys must not count here: once promoted, the server would wait for itself.
func (s *Server) follow(ctx context.Context, primary *Server) error {
	err := s.configure("postgresql.auto.conf", "primary_conninfo="+primary.conninfo(), "synchronous_standby_names=")
	if err := errors.Join(err, os.WriteFile(filepath.Join(s.data(), "standby.signal"), nil, 0o644)); err != nil {
		return err
	}
	return s.Start(ctx)
}

// Promote makes a standby a primary, and returns once it takes writes.
func (s *Server) Promote(ctx context.Context) error {
	if err := s.exec(ctx, "postgres", "SELECT pg_promote(false)"); err != nil {
		return err
	}
	return s.until(ctx, "SELECT NOT pg_is_in_recovery()", 2*time.Millisecond)
}

// Set changes a setting of the running server.
func (s *Server) Set(ctx context.Context, name, value string) error {
	err := s.exec(ctx, "postgres", fmt.Sprintf("ALTER SYSTEM SET %s = '%s'", name, strings.ReplaceAll(value, "'", "''")))
	if err != nil {
		return err
	}
	return s.exec(ctx, "postgres", "SELECT pg_reload_conf()")
}

// Synchronize makes commits wait for one standby, as synchronous_commit says, and returns once a standby has everything.
func (s *Server) Synchronize(ctx context.Context) error {
	if err := s.Set(ctx, "synchronous_standby_names", "*"); err != nil {
		return err
	}
	const caughtUp = `SELECT count(*) > 0 FROM pg_stat_replication
		WHERE state = 'streaming' AND sync_state = 'sync' AND replay_lsn >= pg_current_wal_lsn()`
	return s.until(ctx, caughtUp, 10*time.Millisecond)
}

// until waits until a query returns true, at most three minutes.
func (s *Server) until(ctx context.Context, query string, every time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	return s.with("postgres", func(db *sql.DB) error {
		for {
			var done bool
			if err := db.QueryRowContext(ctx, query).Scan(&done); done || err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("waiting for %s: %w", query, ctx.Err())
			case <-time.After(every):
			}
		}
	})
}

func (s *Server) exec(ctx context.Context, database, query string) error {
	return s.with(database, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, query)
		return err
	})
}

// with calls fn with a pool of connections to a database as the superuser.
func (s *Server) with(database string, fn func(db *sql.DB) error) error {
	db, err := sql.Open("pgx", s.URL(database))
	if err != nil {
		return err
	}
	defer db.Close()
	return fn(db)
}

// tool runs one of PostgreSQL's programs as the server's user.
func (s *Server) tool(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(s.program), name), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, s.attr
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

func (s *Server) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// conninfo is how a standby and PostgreSQL's programs connect.
func (s *Server) conninfo() string {
	return fmt.Sprintf("host=127.0.0.1 port=%d user=postgres", s.port)
}
