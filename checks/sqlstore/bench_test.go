package sqlstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
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
			record(b, store.Database(), ids, pings.Signal{Kind: pings.Success}, at)
		}
	})
}

// BenchmarkList reads the 1,000 checks of a project, each with two channels. PostgreSQL runs without fsync.
func BenchmarkList(b *testing.B) {
	dbtest.Each(b, func(b *testing.B, db dbtest.DB) {
		store := db.Open(b)
		mon := monitorOn(b, store)
		project := addCheck(b, mon).ProjectID
		for _, name := range []string{"a", "b"} {
			_, err := mon.CreateChannel(b.Context(), project, channels.Webhook, name, map[string]string{"url_down": "https://example.org/"})
			must(b, err)
		}
		for range 999 {
			_, err := mon.Create(b.Context(), project, checks.Spec{Name: new("nightly backup"), Tags: []string{"prod", "db"}, Channels: new("*")})
			must(b, err)
		}
		for b.Loop() {
			if list, err := mon.Checks(b.Context(), project, monitor.CheckQuery{}); err != nil || len(list) != 1000 {
				b.Fatal(len(list), err)
			}
		}
	})
}
