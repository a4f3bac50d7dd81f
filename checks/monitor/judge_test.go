package monitor_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// sideBySide is how many histories share a stage.
const sideBySide = 200

// TestJudge lets random histories happen on a monitor whose clock it moves, and judges after every tick what each recipient has heard.
// The judge knows what is true from the deeds of the history and counts ticks: it uses no rule of the code.
//
// By default it plays the same few histories each time. ROLLCALL_JUDGE=20000 plays as many new ones on each database, ROLLCALL_JUDGE=seed:123
// the one with a seed, and ROLLCALL_JUDGE=seed:123+200 those of 200 seeds. With -short it stops at the first violation and shrinks nothing.
// Histories side by side share two servers, and kills of them only happen there.
func TestJudge(t *testing.T) {
	n, first := 20, uint64(1)
	if v := os.Getenv("ROLLCALL_JUDGE"); v != "" {
		if text, found := strings.CutPrefix(v, "seed:"); found {
			seed, more, _ := strings.Cut(text, "+")
			first, _ = strconv.ParseUint(seed, 10, 64)
			n, _ = strconv.Atoi(more)
			n = max(n, 1)
		} else {
			n, _ = strconv.Atoi(v)
			first = rand.Uint64() >> 16
		}
	}
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		n := n
		if db.Path() == "" && os.Getenv("ROLLCALL_JUDGE") == "" { // a history on PostgreSQL takes seconds
			n /= 5
		}
		begin := time.Now()
		failed, played := make(map[string]int), time.Duration(0)
		for done := 0; done < n; done += sideBySide {
			start := time.Now()
			bad := playHistories(t, db, first+uint64(done), min(sideBySide, n-done))
			played += time.Since(start)
			for _, w := range bad {
				rule := w.wrong[0]
				if failed[rule]++; testing.Short() {
					t.Fatalf("%d of %d histories: %s, ROLLCALL_JUDGE=seed:%d\n%s", len(bad), min(done+sideBySide, n), rule, w.seed, strings.Join(w.log, "\n"))
				} else if failed[rule] <= 2 {
					report(t, db, w)
				}
			}
		}
		t.Logf("%d histories in %v of %v, failed %v", n, played, time.Since(begin), failed)
	})
}

// playHistories plays histories side by side and returns the worlds with violations.
func playHistories(t *testing.T, db dbtest.DB, first uint64, n int) (bad []*world) {
	onStage(t, db, func(s *stage) {
		for i := range n {
			s.newWorld(first+uint64(i), draw(first+uint64(i)))
		}
		s.play(first, n > 1)
		for _, w := range s.worlds {
			if len(w.wrong) > 0 {
				bad = append(bad, w)
			}
		}
	})
	return bad
}

// onStage makes a stage on an empty database, whose connections end with it.
func onStage(t *testing.T, db dbtest.DB, act func(s *stage)) {
	t.Run("", func(t *testing.T) {
		if db.Path() != "" {
			act(newStage(t, dbtest.Memory(t).Contract().(store.Store)))
		} else {
			act(newStage(t, db.Another(t).Open(t).Contract().(store.Store)))
		}
	})
}

// report shrinks a history with a violation and prints it.
func report(t *testing.T, db dbtest.DB, w *world) {
	rule, deeds := w.wrong[0], draw(w.seed)
	best := w
	try := func(deeds []deed) bool {
		failed := false
		onStage(t, db, func(s *stage) {
			again := s.newWorld(w.seed, deeds)
			s.play(w.seed, false)
			if failed = slices.Contains(again.wrong, rule); failed {
				again.list = again.outbox()
				best = again
			}
		})
		return failed
	}
	text := "alone it does not happen again"
	if try(deeds) {
		text = "shrunk"
		until := time.Now().Add(20 * time.Second)
		for size, before := len(deeds)/2, 0; size > 0 && time.Now().Before(until); size, before = max(size/2, 1), len(deeds) {
			if size == 1 && before == len(deeds) {
				break
			}
			for i := 0; i+size <= len(deeds) && time.Now().Before(until); {
				if fewer := slices.Delete(slices.Clone(deeds), i, i+size); try(fewer) {
					deeds = fewer
				} else {
					i += size
				}
			}
		}
	}
	t.Errorf("ROLLCALL_JUDGE=seed:%d: %s (%s)\n%s\n%s\n%s", w.seed, rule, text, best.setting(), strings.Join(best.log, "\n"), best.list)
}

// outbox lists the first deliveries of a world.
func (w *world) outbox() (text string) {
	for _, project := range w.projects {
		list, err := on(w.mon()).Deliveries(w.ctx, project, checks.DeliveryQuery{Limit: 1000})
		must(w.t, err)
		slices.Reverse(list)
		for _, d := range list[:min(len(list), 60)] {
			text += fmt.Sprintf("%d: %s %s to %s %s: %s, reminder %d, attempts %d, held %s, created %s, finished %s %s\n", d.ID, d.CheckName, d.Status,
				d.ChannelName, d.Recipient, d.State, d.Reminder, d.Attempts, d.Held, clockText(d.CreatedAt), clockText(d.FinishedAt), d.Error)
		}
	}
	return text
}

// setting says what the world was in the beginning.
func (w *world) setting() string {
	var list []string
	for _, j := range w.jobs {
		list = append(list, fmt.Sprintf("%s: timeout %v, grace %v", j.name, j.timeout, j.grace))
	}
	return strings.Join(list, "; ")
}
