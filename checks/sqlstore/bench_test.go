package sqlstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// BenchmarkBatch writes batches of one success ping for each of 64 checks. PostgreSQL runs without fsync.
func BenchmarkBatch(b *testing.B) {
	dbtest.Each(b, func(b *testing.B, db dbtest.DB) {
		store := db.Open(b)
		mon := monitorOn(b, store)
		var ids []uuid.UUID
		for range 64 {
			ids = append(ids, addCheck(b, mon).ID)
		}
		at := time.Now()
		b.ReportAllocs()
		for b.Loop() {
			at = at.Add(time.Millisecond)
			record(b, store, ids, pings.Signal{Kind: pings.Success}, at)
		}
	})
}
