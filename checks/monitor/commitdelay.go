package monitor

import "time"

// commitDelay decides whether the writer waits for more pings before it commits a batch.
//
// Clients that send their next ping as soon as the last one is answered otherwise split into two halves that take
// turns, each with its own commit. A short wait lets all of them join one batch, which halves the commits. When
// pings arrive at their own pace, a wait only delays answers. A wait that did not pay off shows this, and the next
// maxSkipped batches go without.
type commitDelay struct {
	callers int           // callers of the last batch, and those that queued during its commit
	took    time.Duration // time of the last commit
	skip    int           // large batches to commit without a wait
}

const (
	minCallers = 16                    // a smaller batch is not worth a wait
	maxWait    = 10 * time.Millisecond // however slow the database is
	maxSkipped = 32
)

// committed records a commit: the size of its batch, how many pings are queued after it, and how long it took.
func (d *commitDelay) committed(size, queued int, took time.Duration) {
	d.callers, d.took = 0, took
	if size >= minCallers {
		d.callers = size + queued
	}
}

// next returns how many pings the next batch should wait for, and how long at most. It returns 0 for no wait.
func (d *commitDelay) next(queued, maxBatch int) (wanted int, atMost time.Duration) {
	wanted = min(d.callers, maxBatch)
	if queued == 0 || queued >= wanted {
		return 0, 0
	}
	if d.skip > 0 {
		d.skip--
		return 0, 0
	}
	return wanted, min(d.took, maxWait)
}

// waited records how many of the wanted pings were queued at the end of a wait. Most of them are enough.
func (d *commitDelay) waited(wanted, queued int) {
	if queued < wanted-wanted/8 {
		d.skip = maxSkipped
	}
}
