package monitor_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// broken is a store that cannot do any work in the background.
type broken struct {
	store.Store
}

var errBroken = errors.New("broken")

func (broken) Probe(context.Context, bool) error                                   { return errBroken }
func (broken) Update(context.Context, func(context.Context, store.Tx) error) error { return errBroken }
func (broken) PrunePings(context.Context, func()) (int, error)                     { return 0, errBroken }
func (broken) PruneFlips(context.Context, time.Time, func()) (int, error)          { panic(errBroken) }

func (broken) DueChannels(context.Context, time.Time, uuid.UUID, int) ([]store.DueChannel, error) {
	return nil, errBroken
}

func (broken) ClaimBodies(context.Context, store.BodyTask, time.Time, time.Time, int) ([]store.BodyJob, error) {
	return nil, errBroken
}

// TestLogComponents has all background work fail. Each line of the log names its component, in a group.
func TestLogComponents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedLog
		db := dbtest.SQLite(t).Open(t)
		mon, err := monitor.New(database{broken{db.Contract().(store.Store)}}, &monitor.Config{
			Logger:  slog.New(slog.NewJSONHandler(&log, nil)),
			OnAlert: func(context.Context, channels.Notification) error { return nil },
			Bodies:  &shelf{},
		})
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- mon.Heartbeat(ctx, time.Minute, &receiver{err: errBroken}) }()
		stop := start(t, mon)
		time.Sleep(2 * time.Minute)
		stop()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Heartbeat returned %v", err)
		}
		got := make(map[string]string)
		for line := range strings.Lines(log.String()) {
			var entry struct {
				Msg      string
				Rollcall struct{ Component string }
			}
			must(t, json.Unmarshal([]byte(line), &entry))
			got[entry.Msg] = entry.Rollcall.Component
		}
		want := map[string]string{
			"cannot look for overdue checks":                    "watcher",
			"cannot deliver alerts":                             "courier",
			"cannot remove old pings":                           "pruner",
			"cannot prune flips, records and the audit log":     "pruner",
			"cannot move the bodies of pings to object storage": "bodies",
			"cannot remove objects":                             "bodies",
			"a heartbeat was not sent":                          "heartbeat",
			"this monitor is not healthy":                       "heartbeat",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("components (-want +got):\n%s", diff)
		}
	})
}
