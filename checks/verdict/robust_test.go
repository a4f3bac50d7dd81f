package verdict_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestAnyHistory explains checks after random events, also without their history and after clocks were set back.
func TestAnyHistory(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	kinds := []pings.Kind{pings.Success, pings.Failure, pings.Start, pings.Log}
	for range 500 {
		s := begin(t, checks.Spec{AlertAfter: new(random.IntN(3)), RepeatEvery: new(time.Duration(random.IntN(2)) * time.Hour),
			QuietHours: new([]string{"", "22:00-06:00"}[random.IntN(2)]), MaxRuntime: new(time.Duration(random.IntN(2)) * 2 * time.Hour)})
		now := at(20, 12, 0)
		for range random.IntN(12) {
			now = now.Add(time.Duration(random.IntN(20)-1) * time.Hour)
			switch random.IntN(8) {
			case 0:
				s.pause(now)
			case 1:
				if s.in.Check.Stored == checks.StatusPaused {
					s.resume(now)
				}
			case 2:
				s.ping(pings.Signal{Kind: kinds[random.IntN(2)], At: now.Add(-time.Hour)}, now)
			case 3:
				s.update(checks.Spec{Grace: new(time.Duration(1+random.IntN(90)) * time.Minute)}, now)
			case 4:
				s.settle(now)
			default:
				run := uuid.NullUUID{UUID: uuid.New(), Valid: random.IntN(2) == 0}
				s.ping(pings.Signal{Kind: kinds[random.IntN(4)], RunID: run}, now)
			}
		}
		s.in.Now = now.Add(time.Duration(random.IntN(50)) * time.Hour)
		word := map[checks.Status]string{checks.StatusNew: "New", checks.StatusUp: "Up since", checks.StatusGrace: "Late since",
			checks.StatusDown: "Down since", checks.StatusPaused: "Paused since"}
		for _, in := range []verdict.Input{s.in, {Check: s.in.Check, Now: s.in.Now}} {
			v := verdict.Explain(in)
			text := v.Text(nil)
			if v.Status != s.in.Check.Status(s.in.Now) || !strings.HasPrefix(text, word[v.Status]) || strings.Count(text, "Europe/Riga") != 1 {
				t.Errorf("%v: %s", v.Status, text)
			}
			for _, bad := range []string{"  ", " .", ": .", "0001", "-", "of 0 s"} {
				if strings.Contains(text, bad) {
					t.Errorf("%q in: %s", bad, text)
				}
			}
		}
	}
	if text := verdict.Explain(verdict.Input{}).Text(nil); text != "This check has no integrations, so no one will be notified." {
		t.Errorf("a check without anything: %s", text)
	}
}
