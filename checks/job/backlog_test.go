package job_test

import (
	"testing"

	"github.com/rollcall-dev/rollcall/checks/job"
)

// sized is a ping that waits.
type sized struct{ size int }

func (p *sized) Size() int { return p.size }

// TestLost counts each ping once, also one that is dropped while it is on its way.
func TestBacklogCountsLost(t *testing.T) {
	var l job.Backlog[*sized]
	const most = job.MaxBacklogBytes
	large := []*sized{{most / 2}, {most / 2}, {most}, {2 * most}}
	for i, p := range large {
		if err := l.Add(p); (err != nil) != (i >= 2) {
			t.Errorf("ping %d: %v", i, err)
		}
	}
	if got := l.All(); len(got) != 1 || got[0] != large[3] {
		t.Errorf("waiting %v", got)
	}
	l.Sent(large[0])
	l.Drop(large[1])
	if lost := l.TakeLost(); lost != 2 || l.TakeLost() != 0 {
		t.Errorf("%d pings are lost, want 2", lost)
	}
	small := []*sized{{1}, {2}, {3}}
	l.Sent(large[3])
	for _, p := range small {
		_ = l.Add(p)
	}
	l.Drop(small[1])
	l.Sent(small[0])
	if got := l.All(); len(got) != 1 || got[0] != small[2] || l.TakeLost() != 1 {
		t.Errorf("waiting %v", got)
	}
}
