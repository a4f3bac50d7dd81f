package monitor_test

import (
	"sync/atomic"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// BenchmarkPing records success pings for 1,000 checks in turn, from one caller and from 64 at once. PostgreSQL runs
// as the tests run it, without fsync.
func BenchmarkPing(b *testing.B) {
	for name, open := range map[string]func(testing.TB) dbtest.DB{"sqlite": dbtest.SQLite, "postgres": dbtest.PostgreSQL} {
		b.Run(name, func(b *testing.B) {
			mon, err := monitor.New(open(b).Open(b), nil)
			if err != nil {
				b.Fatal(err)
			}
			project, err := mon.OpenProject(b.Context(), "p")
			if err != nil {
				b.Fatal(err)
			}
			list := make([]checks.Check, 1000)
			for i := range list {
				if list[i], err = mon.Create(b.Context(), project.ID, checks.Spec{}); err != nil {
					b.Fatal(err)
				}
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
}
