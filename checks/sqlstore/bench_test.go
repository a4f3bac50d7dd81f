package sqlstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
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
			_, err := mon.Project(project).CreateChannel(b.Context(), channels.Channel{Kind: channels.Webhook, Name: name, Settings: map[string]string{"url_down": "https://example.org/"}})
			must(b, err)
		}
		for range 999 {
			_, err := mon.Project(project).Create(b.Context(), checks.Spec{Name: new("nightly backup"), Tags: []string{"prod", "db"}, Channels: new("*")})
			must(b, err)
		}
		for b.Loop() {
			if list, err := checks.Stored(mon.Project(project).Checks(b.Context(), checks.Query{})); err != nil || len(list) != 1000 {
				b.Fatal(len(list), err)
			}
		}
	})
}
