package sqlstore

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"golang.org/x/sync/errgroup"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// Probe reads the version of the schema. It fails if the database does not answer or lacks migrations. A newer schema
// is fine: during an upgrade, servers of the old version keep running. With write, Probe also commits a transaction
// that writes what a ping does, and changes one row, which nothing else uses.
func (s *database) Probe(ctx context.Context, write bool) error {
	version, err := s.schema.read(ctx)
	if err != nil {
		return s.translate(err)
	}
	if err := checkReleased(version); err != nil {
		return err
	}
	if version < newest() {
		return fmt.Errorf("%w: its schema has version %d, this program needs %d", ErrNotMigrated, version, newest())
	}
	if s.file != nil {
		if err := s.file.probe(); err != nil {
			return err
		}
	}
	if !write {
		return nil
	}
	err = s.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := tx.(*transaction).tryPing(ctx); err != nil {
			return err
		}
		_, err := tx.(*transaction).tx().NewRaw(`INSERT INTO rollcall_settings (name, value) VALUES ('probed_at', ?)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, time.Now().UTC().Format(time.RFC3339Nano)).Exec(ctx)
		return err
	})
	if refused(err) && s.Newer() {
		err = &partError{ErrNewerSchema, err}
	}
	return err
}

// Newer reports whether a newer version has migrated the database, as far as the store has noticed.
func (s *database) Newer() bool { return s.schema.known.Load() }

const (
	// workerTimeout bounds how long Workers waits for a worker. A host that is gone does not refuse connections.
	workerTimeout = time.Second
	// workersFor is how long an answer of Workers stays valid, so that health checks cannot fill the pool.
	workersFor = time.Second
	// workersAtOnce bounds the workers that are asked at a time.
	workersAtOnce = 8
)

// workers is the last answer of Workers.
type workers struct {
	mu   sync.Mutex // held while workers are asked
	at   time.Time
	all  int
	away []string
}

// Workers asks the coordinator of Citus whether it reaches the workers.
func (s *database) Workers(ctx context.Context) (all int, away []string, err error) {
	if _, is := s.layout().(spread); !is {
		return 0, nil, nil
	}
	w := &s.workers
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.at) >= workersFor {
		if w.all, w.away, err = s.askWorkers(ctx); err != nil {
			return 0, nil, s.translate(err)
		}
		w.at = time.Now()
	}
	return w.all, w.away, nil
}

func (s *database) askWorkers(ctx context.Context) (all int, away []string, err error) {
	rows, err := s.db.DB.QueryContext(ctx, `SELECT nodename, nodeport FROM pg_catalog.pg_dist_node
		WHERE isactive AND shouldhaveshards AND noderole = 'primary' ORDER BY nodeid`)
	var node struct {
		name string
		port int
	}
	nodes, err := scanList(rows, err, &node, &node.name, &node.port)
	if err != nil {
		return 0, nil, err
	}
	answers := make([]bool, len(nodes))
	var asking errgroup.Group
	asking.SetLimit(workersAtOnce)
	for i, n := range nodes {
		asking.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, workerTimeout)
			defer cancel()
			// After a restart of the worker, the first try may use a connection that Citus has kept from before.
			const try = "citus_check_connection_to_node($1, $2)"
			err := s.db.DB.QueryRowContext(ctx, "SELECT "+try+" OR "+try, n.name, n.port).Scan(&answers[i])
			if ctx.Err() != nil {
				return nil
			}
			return err
		})
	}
	err = asking.Wait()
	for i, n := range nodes {
		if !answers[i] {
			away = append(away, net.JoinHostPort(n.name, strconv.Itoa(n.port)))
		}
	}
	return len(nodes), away, err
}

// Connections asks a session how much memory it has, if the user may know: a superuser, or a member of pg_read_all_stats.
func (s *database) Connections(ctx context.Context) store.Connections {
	stats := s.db.DB.Stats()
	c := store.Connections{InUse: stats.InUse, Idle: stats.Idle, Max: stats.MaxOpenConnections, Waited: stats.WaitDuration}
	if !s.d.postgres {
		return c
	}
	sees := s.seesMemory.Load()
	if sees == nil {
		sees = new(bool)
		if err := s.db.DB.QueryRowContext(ctx, `SELECT has_table_privilege('pg_catalog.pg_backend_memory_contexts', 'SELECT')
			AND has_function_privilege('pg_catalog.pg_get_backend_memory_contexts()', 'EXECUTE')`).Scan(sees); err != nil {
			return c
		}
		s.seesMemory.Store(sees)
	}
	if *sees { // an error leaves 0
		_ = s.db.DB.QueryRowContext(ctx, "SELECT sum(total_bytes)::bigint FROM pg_catalog.pg_backend_memory_contexts").Scan(&c.Session)
	}
	return c
}

// Durability asks the database for the settings that the package comment requires. On SQLite, each connection has its own: that
// of the one that writes counts.
func (s *database) Durability(ctx context.Context) (problem string, err error) {
	if s.d.postgres {
		var fsync, commit, accepted string
		row := s.db.DB.QueryRowContext(ctx, `SELECT current_setting('fsync'), current_setting('synchronous_commit'),
			coalesce(current_setting('rollcall.accepts', TRUE), '')`)
		err := row.Scan(&fsync, &commit, &accepted)
		switch {
		case fsync == "off" && !strings.Contains(accepted, "fsync"):
			problem = "fsync=off"
		case commit == "off" && !strings.Contains(accepted, "synchronous_commit"):
			problem = "synchronous_commit=off"
		}
		return problem, s.translate(err)
	}
	if s.file == nil {
		return "", nil
	}
	release, err := s.writeAlone(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	var from querier = s.db.DB
	if s.writer.conn != nil {
		from = s.writer.conn
	}
	var synchronous int
	var journal string
	if err := from.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&synchronous); err != nil {
		return "", s.translate(err)
	}
	if err := from.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&journal); err != nil {
		return "", s.translate(err)
	}
	switch {
	case synchronous < len(weak):
		problem = "synchronous=" + weak[synchronous]
	case journal == "off" || journal == "memory":
		problem = "journal_mode=" + strings.ToUpper(journal)
	}
	return problem, nil
}

// weak are the values of synchronous with which SQLite does not wait until a commit is on disk.
var weak = [...]string{"OFF", "NORMAL"}

// Unalerted looks at all checks, each with a look into an index.
func (s *database) Unalerted(ctx context.Context, now time.Time, deaf []uuid.UUID, limit int) ([]checks.Check, error) {
	var until []int64
	err := s.db.NewRaw("SELECT CAST(value AS bigint) FROM rollcall_settings WHERE name = ?", onAlertSetting).Scan(ctx, &until)
	if err != nil || len(until) > 0 && until[0] >= micros(now) {
		return nil, s.translate(err)
	}
	rows, err := s.db.NewSelect().TableExpr("rollcall_checks AS c").ColumnExpr("c.uuid, c.project_id, c.name, c.slug").
		Where("c.status <> ? AND NOT c.record_only", listCode(checks.StatusPaused)).
		Where(`NOT EXISTS (SELECT 1 FROM rollcall_check_channels AS cc JOIN rollcall_channels AS ch ON ch.id = cc.channel_id
			WHERE cc.check_id = c.id AND ch.id NOT IN (?))`, bun.List(orNone(deaf))).
		Where("c.project_id NOT IN (SELECT e.project_id FROM rollcall_escalations AS e WHERE e.channel_id NOT IN (?))", bun.List(orNone(deaf))).
		OrderExpr("c.id").Limit(int64(limit)).Rows(ctx)
	var row checks.Check
	list, err := scanList(rows, err, &row, &row.ID, &row.ProjectID, &row.Name, &row.Slug)
	return list, s.translate(err)
}

func (s *database) NewChecks(ctx context.Context, until time.Time, limit int) ([]checks.Check, error) {
	var keys []int64
	err := s.db.NewSelect().TableExpr("rollcall_checks AS c").ColumnExpr("c.id").
		Where("c.status = ? AND c.created_at <= ?", listCode(checks.StatusNew), micros(until)).
		OrderExpr("c.created_at, c.id").Limit(int64(limit)).Scan(ctx, &keys)
	if err != nil || len(keys) == 0 {
		return nil, s.translate(err)
	}
	return s.readChecks(ctx, store.CheckFilter{}, s.d.text(withKeys), s.d.list(keys))
}

// newestDeliveries is how many deliveries GivenUp reads at most.
const newestDeliveries = 1000

// GivenUp reads the marks of the channels, and the newest deliveries for OnAlert, which has none.
func (s *database) GivenUp(ctx context.Context) (list []channels.Channel, sent time.Time, err error) {
	list, err = readAll(ctx, s.lookup, func(rows *[]channelRow) *bun.SelectQuery {
		return s.db.NewSelect().Model(rows).Where("ch.failed_at IS NOT NULL").OrderExpr("ch.failed_at DESC").Limit(newestDeliveries)
	}, (*channelRow).channel)
	if err != nil {
		return nil, time.Time{}, err
	}
	var last []struct {
		State      string
		FinishedAt int64
		Error      string
	}
	err = s.db.NewRaw(`SELECT d.state, d.finished_at, d.error FROM (
			SELECT id, state, finished_at, error FROM rollcall_deliveries WHERE channel_id = ? ORDER BY id DESC LIMIT ?
		) AS d WHERE d.state IN ('sent', 'failed') ORDER BY d.finished_at DESC, d.id DESC LIMIT 1`, store.OnAlert.ID, newestDeliveries).Scan(ctx, &last)
	if err != nil {
		return nil, time.Time{}, s.translate(err)
	}
	if len(last) > 0 && last[0].State == string(checks.DeliveryFailed) {
		function := store.OnAlert
		function.FailedAt, function.Error = instant(last[0].FinishedAt), last[0].Error
		list = append(list, function)
	}
	if len(list) == 0 {
		return nil, time.Time{}, nil
	}
	var at int64
	err = s.db.NewRaw(`SELECT coalesce(max(d.finished_at), 0) FROM (
			SELECT state, finished_at FROM rollcall_deliveries ORDER BY id DESC LIMIT ?
		) AS d WHERE d.state = 'sent'`, newestDeliveries).Scan(ctx, &at)
	return list, instant(at), s.translate(err)
}

// tryPing writes a ping of a check that does not exist, and removes it. It needs the tables, columns, rights and locks that
// a ping needs.
func (t *transaction) tryPing(ctx context.Context) error {
	if _, err := t.layout.lock(ctx, t, []int64{0}); err != nil {
		return err
	}
	if _, err := t.load(ctx, []lockedKey{{}}); err != nil {
		return err
	}
	row := &lockedRow{}
	if err := t.saveStates(ctx, []*store.Locked{{Row: row, Pings: []pings.Ping{{Kind: pings.Success}}}}); err != nil {
		return err
	}
	_, err := t.tx().Tx.ExecContext(ctx, fmt.Sprintf("DELETE FROM rollcall_pings WHERE id = %d AND check_id = 0", row.logHead))
	return err
}

// maxBlocked bounds the due deliveries among which Backlog looks for the first of a line.
const maxBlocked = 1000

// Backlog summarizes the pending deliveries. It reads only their indexes.
func (s *database) Backlog(ctx context.Context, now time.Time) (b store.Backlog, err error) {
	err = s.db.NewRaw("SELECT count(*) FROM (SELECT 1 FROM rollcall_deliveries WHERE state = 'pending' LIMIT ?) AS p",
		store.MaxPending).Scan(ctx, &b.Pending)
	if err != nil {
		return store.Backlog{}, s.translate(err)
	}
	var due []int64
	err = s.db.NewRaw(`SELECT d.due_at FROM (
			SELECT id, check_id, channel_id, recipient, due_at FROM rollcall_deliveries
			WHERE state = 'pending' AND due_at <= ? ORDER BY due_at LIMIT ?
		) AS d WHERE d.id = `+firstOfLine+` ORDER BY d.due_at LIMIT 1`, micros(now), maxBlocked).Scan(ctx, &due)
	if err != nil {
		return store.Backlog{}, s.translate(err)
	}
	if len(due) > 0 {
		b.OldestDue = instant(due[0])
	}
	return b, nil
}
