package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
	"github.com/rollcall-dev/rollcall/examples/tools/internal/database"
	"github.com/rollcall-dev/rollcall/pings"
)

// someTag is the tag of every fiftieth check.
const someTag = "team-0"

// fixture is a database with one project, whose checks are all up.
type fixture struct {
	db     *bun.DB
	store  *sqlstore.Store
	key    string   // an API key of the project
	checks []string // their UUIDs
}

// fill makes a project with n checks, each with the integrations, in an empty database. The caller closes the database.
func fill(ctx context.Context, url string, n int, integrations []channels.Channel) (f *fixture, err error) {
	db, store, err := database.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	f = &fixture{db: db, store: store}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if err := f.create(ctx, n, integrations); err != nil {
		return nil, err
	}
	return f, f.db.NewSelect().Table("rollcall_checks").Column("uuid").Scan(ctx, &f.checks)
}

// create makes the project and one check as any program does, and copies the rows of the check: a million calls would
// take too long.
func (f *fixture) create(ctx context.Context, n int, integrations []channels.Channel) error {
	mon, err := monitor.New(f.store, &monitor.Config{
		Channels: []channels.Type{
			{Kind: channels.Email, Settings: []channels.Setting{{Name: "to"}}}, {Kind: channels.Webhook, Settings: []channels.Setting{{Name: "url_down"}}},
		},
		DeliveredElsewhere: true,
	})
	if err != nil {
		return err
	}
	project, keys, err := mon.Projects().Create(ctx, checks.ProjectSpec{Name: "load"})
	if err != nil {
		return err
	}
	f.key = keys.ReadWrite
	for _, c := range integrations {
		if _, err := mon.Project(project.ID).CreateChannel(ctx, c); err != nil {
			return err
		}
	}
	check, err := mon.Project(project.ID).Create(ctx, checks.Spec{Name: new("check 0"), Slug: new("check-0"), Tags: []string{"prod", someTag}, Channels: new("")})
	if err != nil {
		return err
	}
	if _, err := mon.Ping(ctx, check.ID, pings.Signal{Kind: pings.Success}); err != nil {
		return err
	}
	err = f.copyRow(ctx, "rollcall_checks", n-1, map[string]string{
		"id": "id + i", "uuid": f.randomUUID(), "badge_key": f.randomUUID(),
		"unique_key": "'key ' || i", "name": "'check ' || i", "sort_name": "'check ' || i", "search": "'check ' || i || '\ncheck-' || i || '\nprod team-' || (i % 50)", "slug": "'check-' || i", "tags": "'prod team-' || (i % 50)",
	})
	if err != nil {
		return err
	}
	err = f.copyRow(ctx, "rollcall_states", n-1, map[string]string{
		"check_id": "check_id + i", "log_head": "NULL",
	})
	if err != nil {
		return err
	}
	_, err = f.db.ExecContext(ctx, `INSERT INTO rollcall_check_channels (check_id, channel_id)
		SELECT c.id, ch.id FROM rollcall_checks AS c JOIN rollcall_channels AS ch ON ch.project_id = c.project_id`)
	return err
}

// distribute spreads the database over the workers of Citus.
func (f *fixture) distribute(ctx context.Context) error {
	_, err := f.store.Contract().(interface {
		Distribute(context.Context) (changed bool, err error)
	}).Distribute(ctx)
	return err
}

// copyRow adds n copies of the only row of a table. An expression that replaces a column may use i, from 1 to n.
func (f *fixture) copyRow(ctx context.Context, table string, n int, replace map[string]string) error {
	rows, err := f.db.QueryContext(ctx, "SELECT * FROM "+table+" LIMIT 0")
	if err != nil {
		return err
	}
	columns, err := rows.Columns()
	if err := errors.Join(err, rows.Close()); err != nil {
		return err
	}
	values, left := make([]string, len(columns)), maps.Clone(replace)
	for k, column := range columns {
		values[k] = column
		if expression, found := replace[column]; found {
			values[k] = expression
			delete(left, column)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%s does not have the columns %v", table, left)
	}
	_, err = f.db.ExecContext(ctx, fmt.Sprintf(`INSERT INTO %s (%s)
		WITH RECURSIVE series (i) AS (SELECT 1 WHERE %d > 0 UNION ALL SELECT i + 1 FROM series WHERE i < %d)
		SELECT %s FROM %s, series`, table, strings.Join(columns, ", "), n, n, strings.Join(values, ", "), table))
	return err
}

func (f *fixture) postgres() bool { return f.db.Dialect().Name() == dialect.PG }

func (f *fixture) randomUUID() string {
	if f.postgres() {
		return "gen_random_uuid()"
	}
	return "lower(printf('%s-%s-4%s-8%s-%s', hex(randomblob(4)), hex(randomblob(2)), substr(hex(randomblob(2)), 2), " +
		"substr(hex(randomblob(2)), 2), hex(randomblob(6))))"
}

// logFiles is how many files of 16 MB the write-ahead log has: more than a measurement fills.
const logFiles = 40

// prepareLog brings a new PostgreSQL server to where an old one is: with files of the write-ahead log to recycle, and
// with statistics. Otherwise commits would wait for the server to fill each file with zeroes, and it would vacuum in the
// middle of a round.
func prepareLog(ctx context.Context, url string) error {
	db, err := postgres.OpenDB(url)
	if err != nil {
		return err
	}
	defer db.Close()
	for range logFiles {
		if _, err := db.ExecContext(ctx, "SELECT pg_logical_emit_message(false, 'load', 'x'), pg_switch_wal()"); err != nil {
			return err
		}
	}
	if _, err := db.ExecContext(ctx, "VACUUM ANALYZE"); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "CHECKPOINT")
	return err
}

// integrations returns those of each check: emails, which nobody delivers, or the receiver.
func (o *options) integrations() (list []channels.Channel) {
	if o.receiver != "" {
		return []channels.Channel{{Kind: channels.Webhook, Name: "receiver", Settings: map[string]string{"url_down": o.receiver}}}
	}
	for i := range o.Channels {
		list = append(list, channels.Channel{Kind: channels.Email, Name: fmt.Sprint("mail ", i), Settings: map[string]string{"to": "jobs@example.org"}})
	}
	return list
}

// overdue makes n checks overdue by moving their recorded times back. All checks have the state of the one that was copied.
func (f *fixture) overdue(ctx context.Context, n int) error {
	const twoDays = 48 * time.Hour
	moved, _, err := f.moved(ctx, f.checks[0])
	if err != nil {
		return err
	}
	state, err := moved(-twoDays)
	if err != nil {
		return err
	}
	_, err = f.db.NewRaw("UPDATE rollcall_states SET state = ?, watch_at = watch_at - ?, revision = revision + 1 "+
		"WHERE check_id IN (SELECT check_id FROM rollcall_states LIMIT ?)", state, twoDays.Microseconds(), n).Exec(ctx)
	return err
}

// moved returns the deadline of a check that was not pinged since it was copied, and a function that returns its state with
// times that are moved.
func (f *fixture) moved(ctx context.Context, id string) (move func(by time.Duration) (string, error), deadline time.Time, err error) {
	var row struct {
		State   string
		WatchAt int64
	}
	err = f.db.NewRaw("SELECT state, watch_at FROM rollcall_states WHERE check_id = (SELECT id FROM rollcall_checks WHERE uuid = ?)", id).Scan(ctx, &row)
	if err != nil {
		return nil, time.Time{}, err
	}
	var state map[string]any
	if err := json.Unmarshal([]byte(row.State), &state); err != nil {
		return nil, time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(state["last_ping"]))
	if err != nil {
		return nil, time.Time{}, err
	}
	return func(by time.Duration) (string, error) {
		state["last_ping"] = at.Add(by)
		text, err := json.Marshal(state)
		return string(text), err
	}, time.UnixMicro(row.WatchAt), nil
}

// setDeadlines spreads the deadlines of checks that were not pinged over a time, and returns them.
func (f *fixture) setDeadlines(ctx context.Context, ids []string, begin time.Time, over time.Duration) (map[string]time.Time, error) {
	moved, deadline, err := f.moved(ctx, ids[0])
	if err != nil {
		return nil, err
	}
	deadlines := make(map[string]time.Time, len(ids))
	return deadlines, f.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		for _, id := range ids {
			at := begin.Add(rand.N(over)).Truncate(time.Microsecond)
			state, err := moved(at.Sub(deadline))
			if err != nil {
				return err
			}
			_, err = tx.NewRaw("UPDATE rollcall_states SET state = ?, watch_at = ?, revision = revision + 1 "+
				"WHERE check_id = (SELECT id FROM rollcall_checks WHERE uuid = ?)", state, at.UnixMicro(), id).Exec(ctx)
			if err != nil {
				return err
			}
			deadlines[id] = at
		}
		return nil
	})
}
