package croncheck_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/rollcall-dev/rollcall/checks/job/internal/cronspec"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// TestSpec compares the times of random entries with those of their checks.
func TestSpec(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(low, high int) string {
		a, b := low+random.IntN(high-low+1), low+random.IntN(high-low+1)
		switch random.IntN(6) {
		case 0, 1:
			return "*"
		case 2:
			return fmt.Sprint(a)
		case 3:
			return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
		case 4:
			return fmt.Sprintf("*/%d", 1+random.IntN(high))
		default:
			return fmt.Sprintf("%d,%d", a, b)
		}
	}
	parser := cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)
	for range 300 {
		text := strings.Join([]string{pick(0, 59), pick(0, 23), pick(1, 28), pick(1, 12), pick(0, 6)}, " ")
		theirs, err := parser.Parse(text)
		must(t, err)
		spec, err := cronspec.Of[cron.SpecSchedule](theirs, time.UTC)
		must(t, err)
		ours, err := schedule.Parse(*spec.Schedule)
		must(t, err)
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for range 50 {
			want := theirs.Next(at)
			if got := ours.Next(at); !got.Equal(want) {
				t.Fatalf("%q became %q: after %v comes %v, want %v", text, *spec.Schedule, at, got, want)
			}
			at = want
		}
	}
	for text, want := range map[string]string{
		"@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "15 30 2 1,2,3,5 JAN-MAR ?": "30 2 1-3,5 1-3 *", "TZ=Asia/Tokyo 0 6 * * *": "0 6 * * *",
	} {
		s, err := parser.Parse(text)
		must(t, err)
		if spec, err := cronspec.Of[cron.SpecSchedule](s, nil); err != nil || *spec.Schedule != want {
			t.Errorf("%s became %v, %v, want %s", text, *spec.Schedule, err, want)
		}
	}
	for _, d := range []time.Duration{time.Second, time.Minute, 36 * time.Hour} {
		if spec, err := cronspec.Of[cron.SpecSchedule](cron.Every(d), time.UTC); err != nil || *spec.Timeout != max(d, time.Minute) {
			t.Errorf("every %v became %v, %v", d, spec.Timeout, err)
		}
	}
}
