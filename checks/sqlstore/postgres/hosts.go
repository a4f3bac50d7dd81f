package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	// nextHost is how long one host may take to connect before the next one is tried too.
	nextHost = 250 * time.Millisecond
	// probeIdle is the idle time after which a connection is probed before its next use, and probeTime how long it has
	// to answer.
	probeIdle, probeTime = 50 * time.Millisecond, time.Second
	// readOnly is the SQLSTATE of a write on a standby.
	readOnly = "25006"
)

// silence is how long a machine may acknowledge nothing that was sent to it.
const silence = 10 * time.Second

// dialer finds out within a minute that a connection is dead on which nothing was sent.
var dialer = net.Dialer{Control: limitSilence,
	KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 3}}

// host is one server of a URL.
type host struct {
	address string
	config  *pgx.ConnConfig
	pool    driver.Connector
}

// connector makes the connections of a pool. Its driver can listen to notifications.
type connector struct {
	hosts []host
	last  atomic.Int32 // the host that was connected to last
	// retired counts how often the open connections turned out to lead to a dead server or to one that takes no writes. A
	// connection keeps the count of its beginning, and is only used while that is the current one.
	retired atomic.Int64
	// reparse is whether a pooler loses prepared statements.
	reparse atomic.Bool
	// lean is whether the connections prepare statements with parameters alone.
	lean bool
}

func newConnector(config *pgx.ConnConfig, lean bool) *connector {
	c := &connector{lean: lean}
	for _, one := range split(config) {
		one.DialFunc = dialer.DialContext
		closes := one.OnPgError
		one.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
			if err.Code == readOnly {
				c.retire(conn)
				return false
			}
			return closes(conn, err)
		}
		c.hosts = append(c.hosts, host{address(one), one, stdlib.GetConnector(*one,
			stdlib.OptionBeforeConnect(c.configure), stdlib.OptionAfterConnect(c.begin), stdlib.OptionShouldPing(c.probe), stdlib.OptionResetSession(c.check))})
	}
	return c
}

// split returns a configuration for each host.
func split(config *pgx.ConnConfig) (list []*pgx.ConnConfig) {
	hosts := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	for _, h := range hosts {
		if n := len(list); n > 0 && list[n-1].Host == h.Host && list[n-1].Port == h.Port {
			list[n-1].Fallbacks = append(list[n-1].Fallbacks, h) // the same host without TLS
			continue
		}
		one := config.Copy()
		one.Host, one.Port, one.TLSConfig, one.Fallbacks = h.Host, h.Port, h.TLSConfig, nil
		list = append(list, one)
	}
	return list
}

func address(config *pgx.ConnConfig) string {
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
}

// Name returns how messages name the database of a URL, without user and password: by its hosts, ports and name, such as
// db1:5432,db2:5432/rollcall. The error is that of [Open] for a URL that is not valid; Name does not connect.
func Name(url string) (string, error) {
	config, err := parseURL(url)
	if err != nil {
		return "", err
	}
	return name(config), nil
}

func name(config *pgx.ConnConfig) string {
	var addresses []string
	for _, one := range split(config) {
		addresses = append(addresses, address(one))
	}
	return strings.Join(addresses, ",") + "/" + config.Database
}

// Connect connects to whichever host takes connections.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	return connect(ctx, c, c.open, func(conn driver.Conn) { _ = conn.Close() })
}

func (c *connector) Driver() driver.Driver { return listeningDriver{c.hosts[0].pool.Driver(), c} }

// generation is the key of a connection's count in its custom data.
const generation = "rollcall generation"

func (c *connector) begin(ctx context.Context, conn *pgx.Conn) error {
	conn.PgConn().CustomData()[generation] = c.retired.Load()
	return interpret(ctx, conn)
}

// interpret makes the session of a connection interpret its queries, unless the URL says otherwise. They are short, and PostgreSQL's
// compiler takes 10 MB of a session that has used it once. A session that a pooler shares stays as it is.
func interpret(ctx context.Context, conn *pgx.Conn) error {
	given := conn.Config().RuntimeParams
	if given["jit"] != "" || strings.Contains(given["options"], "jit") {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, conn.Config().ConnectTimeout)
	defer cancel()
	// A pooler invents the process ID that it sends at the start.
	_, err := conn.Exec(limited, fmt.Sprintf("SELECT set_config('jit', 'off', FALSE) WHERE pg_backend_pid() = %d", conn.PgConn().PID()))
	if _, refused := errors.AsType[*pgconn.PgError](err); refused {
		return nil
	}
	return err
}

// probe finds out whether an idle connection is dead. If the server does not even say so, the others will be silent too.
func (c *connector) probe(ctx context.Context, p stdlib.ShouldPingParams) bool {
	if p.IdleDuration <= probeIdle || c.check(ctx, p.Conn) != nil {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if err := p.Conn.Ping(limited); err != nil && limited.Err() != nil && ctx.Err() == nil {
		c.retire(p.Conn.PgConn())
	}
	return false // the driver need not probe it again
}

// retire makes the pool discard a connection, and all that are as old.
func (c *connector) retire(conn *pgconn.PgConn) {
	if n, ok := conn.CustomData()[generation].(int64); ok {
		c.retired.CompareAndSwap(n, n+1)
	}
}

// check makes the pool discard a connection that is closed or retired.
func (c *connector) check(_ context.Context, conn *pgx.Conn) error {
	if conn.IsClosed() || conn.PgConn().CustomData()[generation] != c.retired.Load() {
		return driver.ErrBadConn
	}
	return nil
}

// connect connects to one of the hosts. It begins with the one that it reached last. When a host has failed, or has not
// answered for a while, it tries the next one too. The first connection wins.
func connect[T any](ctx context.Context, c *connector, dial func(context.Context, host) (T, error), discard func(T)) (conn T, err error) {
	dialing, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		host int
		conn T
		err  error
	}
	results := make(chan result)
	first, tried, failed := int(c.last.Load()), 0, 0
	failure := &connectError{addresses: make([]string, len(c.hosts)), errs: make([]error, len(c.hosts))}
	next := time.NewTimer(0)
	defer next.Stop()
	for failed < len(c.hosts) {
		select {
		case <-next.C:
			if tried == len(c.hosts) {
				continue
			}
			i := (first + tried) % len(c.hosts)
			tried++
			go func() {
				conn, err := dial(dialing, c.hosts[i])
				results <- result{i, conn, err}
			}()
			next.Reset(nextHost)
		case r := <-results:
			if r.err == nil {
				c.last.Store(int32(r.host))
				go func() {
					for range tried - failed - 1 {
						if late := <-results; late.err == nil {
							discard(late.conn)
						}
					}
				}()
				return r.conn, nil
			}
			failure.addresses[r.host], failure.errs[r.host] = c.hosts[r.host].address, r.err
			failed++
			next.Reset(0)
		}
	}
	if ctx.Err() != nil {
		return conn, ctx.Err()
	}
	return conn, failure
}

// connectError is a failure to connect to any host.
type connectError struct {
	addresses []string
	errs      []error
}

// Error says why each host was not reached, or just why if there is only one.
func (e *connectError) Error() string {
	if len(e.errs) == 1 {
		return reason(e.errs[0])
	}
	texts := make([]string, len(e.errs))
	for i, err := range e.errs {
		texts[i] = e.addresses[i] + ": " + reason(err)
	}
	return strings.Join(texts, "; ")
}

func (e *connectError) Unwrap() []error { return e.errs }

// Is reports that the database is unavailable, also if a server refuses the user or does not have the database: somebody may
// mend that.
func (e *connectError) Is(target error) bool { return target == store.ErrUnavailable }

// reason returns why a host was not reached.
func reason(err error) string {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return answer.Message
	}
	// The driver reports its attempts with and without TLS. The first is enough.
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		return lookup.Error()
	}
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return network.Error()
	}
	switch {
	case errors.Is(err, pgconn.ErrReadOnlyConnection), errors.Is(err, pgconn.ErrStandbyConnection):
		return "the server takes no writes"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer within the connect_timeout"
	}
	if cause, ok := errors.AsType[*pgconn.ConnectError](err); ok && cause.Unwrap() != nil {
		return cause.Unwrap().Error()
	}
	return err.Error()
}
