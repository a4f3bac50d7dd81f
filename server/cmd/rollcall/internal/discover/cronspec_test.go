package discover

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// runs returns when a daemon starts a job, on some days.
func (c cronSpec) runs(from time.Time, days int) (list []time.Time) {
	has := func(field, value int) bool { return fold(cronRanges[field], c.fields[field].set)>>value&1 == 1 }
	for date := range days {
		at := from.AddDate(0, 0, date)
		day, weekday := has(dayField, at.Day()), has(weekdayField, int(at.Weekday()))
		if !has(monthField, int(at.Month())) || !c.either && !(day && weekday) || !day && !weekday {
			continue
		}
		for minute := range 24 * 60 {
			if has(hourField, minute/60) && has(minuteField, minute%60) {
				list = append(list, at.Add(time.Duration(minute)*time.Minute))
			}
		}
	}
	return list
}

// drawField draws the text of a field, mostly one that a daemon takes.
func drawField(t *rapid.T, r *cronRange) string {
	value := rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(r.lo, r.hi).Draw(t, "n")
		if r.names != nil && n-r.lo < len(r.names) && rapid.Bool().Draw(t, "named") {
			return r.names[n-r.lo]
		}
		return fmt.Sprintf([]string{"%d", "%02d"}[rapid.IntRange(0, 1).Draw(t, "digits")], n)
	})
	term := rapid.Custom(func(t *rapid.T) string {
		text := value.Draw(t, "value")
		form := rapid.IntRange(0, 6).Draw(t, "form")
		switch form {
		case 0, 1:
			text = "*"
		case 2, 3:
			text += "-" + value.Draw(t, "last")
		case 4:
			text += "~"
		}
		if form < 4 && rapid.Bool().Draw(t, "stepped") {
			text += "/" + rapid.StringMatching(`[1-9][0-9]?`).Draw(t, "step")
		}
		return text
	})
	return strings.Join(rapid.SliceOfN(term, 1, 2).Draw(t, r.name), ",")
}

// drawSpec draws a schedule that a parser takes.
func drawSpec(t *rapid.T, parse func(string) (cronSpec, error)) cronSpec {
	var fields []string
	for i, r := range cronRanges {
		text := drawField(t, r)
		if i == monthField && rapid.Bool().Draw(t, "every month") || i >= dayField && rapid.Bool().Draw(t, "every day") {
			text = "*"
		}
		fields = append(fields, text)
	}
	spec, err := parse(strings.Join(fields, " "))
	if err != nil {
		t.Skip()
	}
	return spec
}

// parsers are the parsers of all daemons.
func parsers() map[string]func(string) (cronSpec, error) {
	list := map[string]func(string) (cronSpec, error){
		"kubernetes": func(text string) (cronSpec, error) {
			s, err := parseRobfig(text)
			return s.spec, err
		},
	}
	for _, cron := range Crons {
		list[string(cron)] = func(text string) (cronSpec, error) {
			e, err := cron.parse(text+" x", false, true, func(string) bool { return true })
			return e.spec, err
		}
	}
	return list
}

// agree checks that an expression fires when the daemon starts a job by one of several lines.
func agree(t *rapid.T, expr string, daemon ...cronSpec) {
	s, err := schedule.Parse(expr)
	if err != nil {
		t.Fatalf("%q: %v", expr, err)
	}
	const days, most = 100, 500
	from := time.Date(2027, time.Month(rapid.IntRange(1, 12).Draw(t, "month")), 1, 0, 0, 0, 0, time.UTC)
	var want, got []time.Time
	for _, c := range daemon {
		want = append(want, c.runs(from, days)...)
	}
	slices.SortFunc(want, time.Time.Compare)
	want = slices.CompactFunc(want, time.Time.Equal)
	want = want[:min(len(want), most)]
	for at := s.Next(from.Add(-time.Second)); len(got) < len(want) && !at.IsZero(); at = s.Next(at) {
		got = append(got, at)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%q (-daemon +expression):\n%s", expr, diff)
	}
	if len(want) == 0 && s.Next(from.Add(-time.Second)).Before(from.AddDate(0, 0, days)) {
		t.Fatalf("%q fires, the daemon does not", expr)
	}
}

func TestExpressionsFireWithTheDaemon(t *testing.T) {
	for name, parse := range parsers() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				spec := drawSpec(t, parse)
				daemon := spec
				if spec.settle() != "" {
					t.Skip()
				}
				agree(t, spec.String(), daemon)
			})
		})
	}
}

func TestUnionsFireWithAllLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines []zoned
		var daemon []cronSpec
		for range rapid.IntRange(2, 3).Draw(t, "lines") {
			spec := drawSpec(t, parsers()["debian"])
			daemon = append(daemon, spec)
			if spec.settle() != "" {
				t.Skip()
			}
			lines = append(lines, zoned{spec, spec.String(), "UTC"})
		}
		expr, _ := union(lines)
		agree(t, expr, daemon...)
	})
}

func TestShortestGap(t *testing.T) {
	for _, test := range []struct {
		expr string
		want time.Duration
	}{
		{"* * * * *", time.Minute},
		{"0 3 * * *", day},
		{"0 23,1 * * *", 2 * time.Hour},
		{"0 0 13 * 5", day},
		{"0 0 29 2 *", 4*365*day + day},
		{"52 6 1 * *", 28 * day},
		{"Mon 03:00 Europe/Riga\nWed 03:00 Europe/Riga", 2 * day},
		{"*-*-* 17:00:00 America/New_York", day},
		{"2027-01-01 03:00", never},
	} {
		if got, err := shortestGap(test.expr, testNow); err != nil || got != test.want {
			t.Errorf("%q: %v, %v; want %v", test.expr, got, err, test.want)
		}
	}
}
