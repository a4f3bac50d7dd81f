package store

import (
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
)

func TestPingLimit(t *testing.T) {
	for plan, want := range map[string]int{"free": 100, "paid": 1000} {
		if got := PingLimit(checks.Project{Plan: plan, MaxChecks: 5}); got != want {
			t.Errorf("plan %s: %d pings, want %d", plan, got, want)
		}
	}
}
