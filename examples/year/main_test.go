package main

import (
	"os/exec"
	"strings"
	"testing"
)

func TestYear(t *testing.T) {
	for range 2 {
		out, err := exec.CommandContext(t.Context(), "go", "run", ".").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, want := range []string{
			"Mar 13 02:40 CET  down  fail\nMar 14 02:40 CET  up    success\n", "Aug 11 02:40 CEST  up    success\n",
			"Nov 21 03:30 CET  down  overdue\n317 pings: up 7519h10m0s, down 1052h30m0s, unwatched 188h20m0s\n",
		} {
			if !strings.Contains(string(out), want) {
				t.Errorf("printed\n%s, want %s", out, want)
			}
		}
	}
}
