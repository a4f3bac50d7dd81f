package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

const (
	// connectTimeout is how long to wait for a connection, unless the URL sets connect_timeout.
	connectTimeout = 10 * time.Second
	// maxConns leaves room for several programs within the 100 connections of a default PostgreSQL.
	maxConns = 20
	// idleTime is how long an unused connection stays open.
	idleTime = 5 * time.Minute
)

// Open opens the store in the database that a URL names, and migrates it. Close the store after Monitor.Stop.
//
// The URL has the form postgres://user:password@host:port/database?parameter=value, or postgresql://…, with
// the parameters of libpq, such as sslmode and connect_timeout. The environment variables of libpq, such as PGPASSWORD,
// fill in what the URL leaves out. Characters with a meaning in URLs must be percent-encoded in user name and password.
//
// The URL of a primary with standbys names all of them: postgres://user:password@host1:port1,host2:port2/database. If one
// host has a port, give each its own. IPv6 addresses go into parameters: postgres://user:password@/database?host=…,…&port=….
// Each connection goes to the host that takes writes, as with target_session_attrs=read-write, so it follows a failover.
// Another value of target_session_attrs, such as primary, selects otherwise. A connection begins with the host that the
// one before it reached, and tries the next host too when one fails or does not answer within 250 ms.
//
// On the coordinator of Citus, the store also connects to the workers, with the same user, password and TLS settings. It works
// without, but slower.
//
// The defaults are a connect_timeout of 10 seconds, which is for each host, and the application_name "rollcall".
//
// A connection keeps up to 64 statements prepared, those with parameters; statement_cache_capacity sets another number. The
// others are parsed at each use, because their values stand in the text. The parameter default_query_exec_mode of pgx, if
// given, holds for all statements. Sessions do not compile queries, unless the URL has the parameter jit.
//
// If the database is out of reach, refuses the user or fails, the error is checks.ErrUnavailable. See [sqlstore.Store.Migrate]
// for others, such as [sqlstore.ErrOldServer] and [sqlstore.ErrEncoding]. No error shows the URL, which may hold a password.
func Open(ctx context.Context, url string) (*sqlstore.Store, error) {
	config, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	lean := !names(url, "default_query_exec_mode")
	db := bun.NewDB(openDB(config, lean), pgdialect.New())
	store, err := sqlstore.Open(ctx, db)
	if err != nil {
		err = errors.Join(err, db.Close())
		if reason := Explain(err); reason != "" {
			err = &explainedError{fmt.Sprintf("postgres: %s: %s", name(config), reason), err}
		}
		return nil, err
	}
	contract := store.Contract().(interface {
		Own()
		Reach(open func(host string, port uint16, check string) *bun.DB)
	})
	contract.Own()
	contract.Reach(func(host string, port uint16, check string) *bun.DB {
		config, err := elsewhere(url, host, port, check)
		if err != nil {
			return nil
		}
		return bun.NewDB(openDB(config, lean), pgdialect.New())
	})
	return store, nil
}

// elsewhere returns the configuration for the database of a URL on another server, where the check must be true. That must
// answer soon, because there is a way around it.
func elsewhere(text, host string, port uint16, check string) (*pgx.ConnConfig, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	parameters := u.Query()
	parameters.Del("host")
	parameters.Del("port")
	u.Host, u.RawQuery = net.JoinHostPort(host, strconv.Itoa(int(port))), parameters.Encode()
	config, err := parseURL(u.String())
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = min(config.ConnectTimeout, time.Second)
	config.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		answer := conn.ExecParams(ctx, check, nil, nil, nil, nil).Read()
		if answer.Err == nil && string(answer.Rows[0][0]) != "t" {
			return errOther
		}
		return answer.Err
	}
	return config, nil
}

// errOther means that another server answers at the address of a worker.
var errOther = errors.New("postgres: another server answers")

// OpenDB returns a pool like that of [Open], of at most 20 connections. It does not connect yet. It is for programs that
// use the pool for tables of their own too: change its limits if you like, pass it to [sqlstore.Open] with bun's dialect
// pgdialect, and close it at the end. Its connections are those of pgx, which prepares all statements and keeps the last 64.
func OpenDB(url string) (*sql.DB, error) {
	config, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	return openDB(config, false), nil
}

func openDB(config *pgx.ConnConfig, lean bool) *sql.DB {
	db := sql.OpenDB(newConnector(config, lean))
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	db.SetConnMaxIdleTime(idleTime)
	return db
}

// parseURL reads a URL as [Open] describes it.
func parseURL(url string) (*pgx.ConnConfig, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, errors.New("postgres: the URL must begin with postgres://")
	}
	if !unambiguous(url) {
		text := "postgres: the URL is not valid; in a user name or password, characters such as / ? # @ & % must be percent-encoded"
		if strings.Contains(url, ",") {
			text += "; several hosts need a port each or none, and IPv6 addresses the parameter host"
		}
		return nil, errors.New(text)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		reason := "postgres: the URL is not valid"
		if cause := errors.Unwrap(err); cause != nil { // err itself contains the URL
			reason += ": " + cause.Error()
		}
		return nil, errors.New(reason)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if config.ValidateConnect == nil && len(split(config)) > 1 {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if !names(url, "statement_cache_capacity") {
		config.StatementCacheCapacity = keptStatements
	}
	if !names(url, "description_cache_capacity") {
		config.DescriptionCacheCapacity = keptStatements
	}
	config.RuntimeParams["client_encoding"] = "UTF8" // which Go's strings have, whatever the server's setting
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "rollcall"
	}
	return config, nil
}

// names reports whether a URL names a parameter.
func names(text, parameter string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Query().Has(parameter)
}

// unambiguous reports whether all parsers split a URL into the same parts. Otherwise an error about a host or a parameter
// could show a piece of the password.
func unambiguous(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" {
		return false
	}
	if at := strings.Count(text, "@"); at > 1 || at == 1 && u.User == nil {
		return false
	}
	for parameter := range strings.SplitSeq(u.RawQuery, "&") {
		if u.RawQuery != "" && !strings.Contains(parameter, "=") {
			return false
		}
	}
	return true
}

// explainedError replaces the text of an error.
type explainedError struct {
	text string
	err  error
}

func (e *explainedError) Error() string { return e.text }

func (e *explainedError) Unwrap() error { return e.err }

// Explain returns what is wrong with the database, for the people who run the program: the answer of the server, or why
// it is out of reach. It takes the errors of this package, of a store and of the driver, and returns "" for any other.
func Explain(err error) string {
	if failure, ok := errors.AsType[*connectError](err); ok {
		return failure.Error()
	}
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return answer.Message
	}
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return network.Error()
	}
	return ""
}
