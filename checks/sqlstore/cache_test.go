package sqlstore_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestCacheIsBoundedByBytes pings more checks with long descriptions than the cache has room for.
func TestCacheIsBoundedByBytes(t *testing.T) {
	store, mon, c := withCheck(t, dbtest.SQLite(t))
	const limit = 200_000
	store.LimitCache(limit)
	var ids []uuid.UUID
	for i := range 40 {
		spec := checks.Spec{Name: new(fmt.Sprint(i)), Desc: new(strings.Repeat("x", 10_000))}
		c, err := mon.Project(c.ProjectID).Create(t.Context(), spec)
		must(t, err)
		ids = append(ids, c.ID)
	}
	for round := range int64(3) {
		for _, id := range ids {
			p, err := mon.Ping(t.Context(), id, pings.Signal{Kind: pings.Success})
			if err != nil || p.N != round+1 {
				t.Fatalf("ping %d of a check has number %d, error %v", round+1, p.N, err)
			}
			entries, bytes := store.CacheSize()
			if bytes > limit || entries*10_000 > bytes {
				t.Fatalf("%d entries take %d bytes, the limit is %d", entries, bytes, limit)
			}
		}
	}
	if entries, _ := store.CacheSize(); entries < limit/2/11_200 {
		t.Errorf("the cache has only %d entries", entries)
	}
}

// TestReadsAreNotCached lists a check and reads it. The cache is for checks that are pinged.
func TestReadsAreNotCached(t *testing.T) {
	db := dbtest.SQLite(t)
	_, _, c := withCheck(t, db)
	store := db.Open(t).Database()
	mon := monitorOn(t, store)
	if list, err := checks.Stored(mon.Project(c.ProjectID).Checks(t.Context(), checks.Query{})); err != nil || len(list) != 1 {
		t.Fatalf("the list has %d checks, want 1; error %v", len(list), err)
	}
	_, err := mon.Check(t.Context(), c.ID)
	must(t, err)
	if entries, bytes := store.CacheSize(); entries != 0 || bytes != 0 {
		t.Errorf("the cache has %d entries with %d bytes, want none", entries, bytes)
	}
}

func TestDeletedCheckLeavesTheCache(t *testing.T) {
	store, mon, c := withCheck(t, dbtest.SQLite(t))
	if entries, _ := store.CacheSize(); entries != 1 {
		t.Fatalf("the cache has %d entries, want 1", entries)
	}
	_, err := mon.Project(c.ProjectID).Delete(t.Context(), c.ID)
	must(t, err)
	if entries, bytes := store.CacheSize(); entries != 0 || bytes != 0 {
		t.Errorf("the cache has %d entries with %d bytes, want none", entries, bytes)
	}
}

// BenchmarkCacheMemory reports how much memory a cached check takes, and the estimate by which the cache is bounded.
func BenchmarkCacheMemory(b *testing.B) {
	for name, spec := range map[string]checks.Spec{
		"simple": {}, "cron": {Schedule: new("*/5 8-18 * * 1-5"), TZ: new("Europe/Riga")},
	} {
		b.Run(name, func(b *testing.B) {
			store := dbtest.SQLite(b).Open(b)
			mon := monitorOn(b, store)
			project, err := mon.OpenProject(b.Context(), "p")
			must(b, err)
			for b.Loop() {
				const n = 2000
				before := heap()
				for i := range n {
					if spec.Schedule != nil {
						spec.Schedule = new(fmt.Sprintf("%d %d * * 1-5", i%60, i/60%24))
					}
					_, err := project.Create(b.Context(), spec)
					must(b, err)
				}
				b.ReportMetric(float64(heap()-before)/n, "heap-B/check")
			}
			entries, bytes := store.Database().CacheSize()
			b.ReportMetric(float64(bytes)/float64(entries), "estimated-B/check")
		})
	}
}

// heap returns the bytes of live objects.
func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
