package monitor_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestShutdown ends the context of Run again and again while pings arrive, alerts are sent and bodies move. Each Run
// returns nil, and nothing is logged.
func TestShutdown(t *testing.T) {
	rounds := map[string]int{"sqlite": 25, "postgres": 8} // of which each keeps PostgreSQL busy for half a second
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		var log lockedLog
		arrived, next := make(chan struct{}), make(chan struct{}, 1)
		var large atomic.Int64 // bodies that wait for their upload: a monitor that stops would take seconds for thousands
		mon, err := monitor.New(db.Open(t), &monitor.Config{
			Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Channels: []channels.Type{{Kind: channels.Email, Settings: []channels.Setting{{Name: "to"}}, Notifier: channels.NotifierFunc(
				func(context.Context, channels.Channel, channels.Notification) error {
					select {
					case arrived <- struct{}{}:
					default:
					}
					select {
					case next <- struct{}{}:
					default:
					}
					return nil
				})}},
			WatchEvery: time.Millisecond, PruneEvery: time.Millisecond,
			Bodies: &shelf{onPut: func(string) { large.Add(-1) }}, BodyThreshold: 4, BodyEvery: time.Millisecond,
			WriteTimeout: time.Minute, Delivery: monitor.DeliveryConfig{Every: time.Millisecond},
		})
		must(t, err)
		s := setup{verbs: on(mon)}
		s.project, err = on(mon).OpenProject(t.Context(), "p")
		must(t, err)
		_, err = on(mon).CreateChannel(t.Context(), s.project.ID, channels.Email, "ops", map[string]string{"to": "ops@example.org"})
		must(t, err)
		var ids []uuid.UUID
		for range 8 {
			ids = append(ids, s.create(t, checks.Spec{Channels: new("*")}).ID)
		}
		pinging, stop := context.WithCancel(t.Context())
		defer stop()
		var load sync.WaitGroup
		next <- struct{}{}
		for n, id := range ids {
			load.Go(func() {
				for i := 0; pinging.Err() == nil; i++ {
					kind := pings.Success
					if n == 0 { // raises an alert with each ping, and waits until that is sent
						select {
						case <-next:
						case <-pinging.Done():
							return
						}
						kind = []pings.Kind{pings.Failure, pings.Success}[i%2]
					}
					body := []byte("ok")
					if large.Load() < 20 {
						large.Add(1)
						body = []byte("large body")
					}
					if _, err := mon.Ping(t.Context(), id, pings.Signal{Kind: kind, Body: body}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for range rounds[db.Name] {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- mon.Run(ctx) }()
			<-arrived
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run returned %v", err)
			}
		}
		stop()
		load.Wait()
		if log.String() != "" {
			t.Errorf("the log has\n%s", log.String())
		}
	})
}
