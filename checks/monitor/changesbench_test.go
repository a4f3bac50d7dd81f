package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// silent is a store that announces nothing.
type silent struct{ store.Store }

func (silent) Announce(context.Context, string) error { return errors.ErrUnsupported }

// BenchmarkPingWithFeed sends pings from 64 callers: without a feed to other servers, with no subscriber, and with 100
// that read all changes.
func BenchmarkPingWithFeed(b *testing.B) {
	dbtest.Each(b, func(b *testing.B, db dbtest.DB) {
		full := db.Open(b)
		for _, v := range []struct {
			name        string
			store       monitor.Store
			subscribers int
		}{{"silent", database{silent{full.Contract().(store.Store)}}, 0}, {"none", full, 0}, {"100", full, 100}} {
			mon, err := monitor.New(v.store, nil)
			must(b, err)
			project, err := on(mon).OpenProject(b.Context(), "p")
			must(b, err)
			list := make([]checks.Check, 1000)
			for i := range list {
				list[i], err = on(mon).Create(b.Context(), project.ID, checks.Spec{Name: new(fmt.Sprint(i))})
				must(b, err)
			}
			b.Run(v.name, func(b *testing.B) {
				for range v.subscribers {
					changes := mon.Changes(b.Context())
					go func() {
						for range changes {
						}
					}()
				}
				var next atomic.Int64
				b.ReportAllocs()
				b.SetParallelism(32)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						c := list[next.Add(1)%int64(len(list))]
						if _, err := mon.Ping(b.Context(), c.ID, pings.Signal{Kind: pings.Success}); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	})
}
