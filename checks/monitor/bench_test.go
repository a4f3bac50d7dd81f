package monitor_test

import (
	"sync/atomic"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// BenchmarkPing sends success pings for 1,000 checks in turn, from one caller and from 64 at once. PostgreSQL runs without
// fsync.
func BenchmarkPing(b *testing.B) {
	dbtest.Each(b, func(b *testing.B, db dbtest.DB) {
		mon, err := monitor.New(db.Open(b), nil)
		must(b, err)
		project, err := on(mon).OpenProject(b.Context(), "p")
		must(b, err)
		list := make([]checks.Check, 1000)
		for i := range list {
			list[i], err = on(mon).Create(b.Context(), project.ID, checks.Spec{})
			must(b, err)
		}
		var next atomic.Int64
		ping := func() {
			c := list[next.Add(1)%int64(len(list))]
			if _, err := mon.Ping(b.Context(), c.ID, pings.Signal{Kind: pings.Success}); err != nil {
				b.Error(err)
			}
		}
		b.Run("1", func(b *testing.B) {
			for b.Loop() {
				ping()
			}
		})
		b.Run("64", func(b *testing.B) {
			b.SetParallelism(64)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					ping()
				}
			})
		})
	})
}
