package sqlstore

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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
