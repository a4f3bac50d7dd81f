package checks_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// BenchmarkPing applies one success after another to a Simple check and to a Cron check.
func BenchmarkPing(b *testing.B) {
	now := time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
	for name, spec := range map[string]checks.Spec{"simple": {}, "cron": {Schedule: new("*/5 * * * *"), TZ: new("Europe/Riga")}} {
		b.Run(name, func(b *testing.B) {
			c, err := checks.New(uuid.New(), spec, now)
			if err != nil {
				b.Fatal(err)
			}
			var plans checks.Plans
			plans.Attach(&c)
			at := now
			b.ReportAllocs()
			for b.Loop() {
				at = at.Add(time.Second)
				c, _, _, _ = c.Ping(pings.Signal{Kind: pings.Success}, at)
			}
		})
	}
}

// BenchmarkClassify searches a body of the largest size that is searched, and finds no keyword.
func BenchmarkClassify(b *testing.B) {
	c := checks.Check{Settings: checks.Settings{
		FilterHTTPBody: true, SuccessKW: "done, finished", FailureKW: "error, failed, fatal",
	}}
	signal := pings.Signal{Scheme: "http", Method: "POST", Body: []byte(strings.Repeat("all is well so far\n", 530))}
	b.SetBytes(int64(len(signal.Body)))
	b.ReportAllocs()
	for b.Loop() {
		c.Classify(signal)
	}
}
