package sqlstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// BenchmarkRecord writes batches of one success ping for each of 64 checks. PostgreSQL runs without fsync.
func BenchmarkRecord(b *testing.B) {
	for name, open := range map[string]func(testing.TB) dbtest.DB{"sqlite": dbtest.SQLite, "postgres": dbtest.PostgreSQL} {
		b.Run(name, func(b *testing.B) {
			store := open(b).Open(b)
			mon := monitorOn(b, store)
			var ids []uuid.UUID
			for range 64 {
				ids = append(ids, addCheck(b, mon).ID)
			}
			at := time.Now()
			ping := func(locked []*monitor.Locked) error {
				at = at.Add(time.Millisecond)
				return receive(pings.Signal{Kind: pings.Success}, at)(locked)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := record(b.Context(), store, ids, ping); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
