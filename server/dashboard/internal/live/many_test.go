package live

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestManyChecks: of more checks than are kept, open pages still learn what the clock and pings change, and how many are late
// and down. When there are fewer, they are kept again.
func TestManyChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mon, err := monitor.New(dbtest.Memory(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		project, err := mon.OpenProject(t.Context(), "jobs")
		if err != nil {
			t.Fatal(err)
		}
		var list []checks.Snapshot
		for range 3 {
			c, err := project.Create(t.Context(), checks.Spec{Timeout: new(time.Hour), Grace: new(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, c)
		}
		followers := New(mon, slog.New(slog.DiscardHandler))
		followers.most = 2
		defer followers.Close()
		follower := followers.Follow(project.ID())
		viewer := follower.join()
		defer follower.leave(viewer)
		hears := func(what string, after time.Duration, want counts, some bool) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if n, got := follower.take(viewer); got != want || (n.clock || n.kinds != 0) != some {
				t.Errorf("%s: %+v and the news %+v, want %+v, news %v", what, got, n, want, some)
			}
		}
		hears("new checks", 2*time.Second, counts{}, false)
		if _, kept := follower.Checks(); kept {
			t.Error("too many checks are kept")
		}
		if _, err := mon.Ping(t.Context(), list[0].ID, pings.Signal{Kind: pings.Success}); err != nil {
			t.Fatal(err)
		}
		hears("a ping", time.Minute, counts{}, true)
		hears("nothing", 30*time.Minute, counts{}, false)
		hears("a check that is late", 30*time.Minute, counts{late: 1}, true)
		hears("a check that is down, which nobody has recorded", time.Hour, counts{down: 1}, true)
		if _, err := project.Delete(t.Context(), list[1].ID); err != nil {
			t.Fatal(err)
		}
		hears("fewer checks", time.Minute, counts{down: 1}, true)
		if kept, ok := follower.Checks(); !ok || len(kept) != 2 {
			t.Errorf("%d checks are kept, %v, want 2", len(kept), ok)
		}
	})
}
