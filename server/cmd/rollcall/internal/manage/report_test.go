package manage

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// october returns the report on October of a project with three checks, of which one was created later. The second has a
// hostile name.
func october(t *testing.T) *report {
	t.Helper()
	now := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	mon, err := monitor.New(dbtest.Memory(t), &monitor.Config{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	project, err := mon.OpenProject(t.Context(), "<jobs>")
	if err != nil {
		t.Fatal(err)
	}
	create := func(name string) checks.Check {
		c, err := project.Create(t.Context(), checks.Spec{Name: &name, Timeout: new(24 * time.Hour), Grace: new(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		return *c.Check
	}
	daily := create("daily")
	create(`=HYPERLINK("x")<script>alert(1)</script>` + "\x1b[31m")
	ping := func(kind pings.Kind) {
		if _, err := mon.Ping(t.Context(), daily.ID, pings.Signal{Kind: kind}); err != nil {
			t.Fatal(err)
		}
	}
	for day := range 31 {
		ping(pings.Start)
		now = now.Add(41 * time.Minute)
		if day == 9 {
			ping(pings.Failure)
			now = now.Add(time.Hour)
		}
		ping(pings.Success)
		now = time.Date(2026, 10, day+2, 0, 0, 0, 0, time.UTC)
	}
	now = now.Add(time.Minute)
	create("november")
	p, err := new(App).inDatabase(mon).project(t.Context(), "<jobs>")
	if err != nil {
		t.Fatal(err)
	}
	r, err := newReport(t.Context(), p, time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), now)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Checks {
		r.Checks[i].UUID = "uuid"
	}
	return r
}

func TestReport(t *testing.T) {
	r := october(t)
	for format, want := range map[string]string{
		"table": `<jobs>, 2026-10 until 2026-11-01T00:00:00+00:00

CHECK                                               RUNS  FAILED  AVAILABILITY  DOWN  MAINTENANCE  UNWATCHED  MEAN    SHORTEST  LONGEST
daily                                               32    1        99.86%       1 h 0  41 min     41 min  41 min    41 min
=HYPERLINK("x")<script>alert(1)</script>\u001b[31m  0     0                     0    0 31 days
all                                                 32    1        99.86%       1 h   0 31 days    41 min  41 min    41 min
`,
		"csv": `uuid,name,slug,runs,failures,up,down,unwatched,availability,durations_count,durations_sum,durations_min,durations_max,maintenance
uuid,daily,,32,1,2672340,3600,2460,0.998654678356017,31,76260,2460,2460,0
`,
	} {
		var out bytes.Buffer
		if err := r.print(&out, format); err != nil {
			t.Fatal(err)
		}
		if format == "csv" {
			head, hostile, _ := strings.Cut(out.String(), "uuid,\"'=HYPERLINK(")
			if diff := cmp.Diff(want, head); diff != "" || hostile == "" {
				t.Errorf("csv (-want +got):\n%s\n%s", diff, out.String())
			}
			continue
		}
		if diff := cmp.Diff(strings.ReplaceAll(want, " ", ""), strings.ReplaceAll(out.String(), " ", "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
	var page bytes.Buffer
	if err := r.print(&page, "html"); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if strings.Contains(text, "<script") || strings.Contains(text, "<jobs>") || !strings.Contains(text, "&lt;script&gt;alert(1)") {
		t.Error("the page does not escape names")
	}
	for _, address := range []string{"http:", "https:", "src=", "href=", "url("} {
		if strings.Contains(text, address) {
			t.Errorf("the page loads something: %s", address)
		}
	}
	for _, part := range []string{`<td>99.86%</td>`, `2026-10-10: 2 runs, 1 failed, down 1 h`, `class="none"`, `class="part"`} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %s", part)
		}
	}
}

func TestReportWords(t *testing.T) {
	for seconds, want := range map[float64]string{0: "0", 0.004: "0", 0.041: "0.04 s", 20: "20 s", 60: "1 min", 2460: "41 min", 7500.4: "2 h 5 min"} {
		if got := inWords(seconds); got != want {
			t.Errorf("%v seconds: %s, want %s", seconds, got, want)
		}
	}
	almost := reportCheck{}
	almost.Up, almost.Down = 2_600_000, 1
	if got := almost.Share(); got != "99.99%" {
		t.Errorf("one second down is %s", got)
	}
}
