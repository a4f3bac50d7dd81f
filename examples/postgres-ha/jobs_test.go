//go:build unix && release

package postgresha

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// pingEvery keeps the log of a check below the 1,000 entries that a server keeps, as long as the test takes.
const pingEvery = 500 * time.Millisecond

// jobs ping a check each, all the time, and repeat a ping until it is acknowledged.
type jobs struct {
	api    *client.Client
	checks []checks.Snapshot
	end    context.CancelFunc
	wg     sync.WaitGroup

	mu           sync.Mutex
	acknowledged map[uuid.UUID][]uuid.UUID // runs by check
	count        int
	last         time.Time
}

// startJobs starts as many jobs.
func startJobs(t *testing.T, url, key string, n int) *jobs {
	t.Helper()
	api, err := client.New(url, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	j := &jobs{api: api, end: end, acknowledged: make(map[uuid.UUID][]uuid.UUID)}
	t.Cleanup(j.stop)
	for range n {
		check, err := api.Create(t.Context(), checks.Spec{Timeout: new(time.Minute), Grace: new(patience)})
		if err != nil {
			t.Fatal(err)
		}
		pinger, err := client.NewPinger(check.PingURL, &client.PingerConfig{Timeout: 6 * time.Second}) // a server answers within 5 seconds
		if err != nil {
			t.Fatal(err)
		}
		if err := pinger.Close(t.Context()); err != nil { // from now on each ping is tried once, and not in the background
			t.Fatal(err)
		}
		j.checks = append(j.checks, check)
		j.wg.Go(func() { j.run(ctx, check.ID, pinger) })
	}
	return j
}

func (j *jobs) run(ctx context.Context, id uuid.UUID, pinger *client.Pinger) {
	for ctx.Err() == nil {
		run := uuid.New()
		err := pinger.Ping(ctx, pings.Signal{Kind: pings.Success, RunID: uuid.NullUUID{UUID: run, Valid: true}})
		for err != nil && ctx.Err() == nil {
			time.Sleep(pingEvery)
			err = pinger.Ping(ctx, pings.Signal{Kind: pings.Success, RunID: uuid.NullUUID{UUID: run, Valid: true}})
		}
		if err != nil {
			return
		}
		j.mu.Lock()
		j.acknowledged[id] = append(j.acknowledged[id], run)
		j.count++
		j.last = time.Now()
		j.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(pingEvery):
		}
	}
}

// stop ends the jobs.
func (j *jobs) stop() {
	j.end()
	j.wg.Wait()
}

// progress returns how many pings are acknowledged, and when the last was.
func (j *jobs) progress() (count int, last time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.count, j.last
}

// audit looks for each acknowledged ping, and for flips other than that of the first ping.
func (j *jobs) audit(t *testing.T) {
	t.Helper()
	for _, check := range j.checks {
		log, err := checks.Collect(j.api.Pings(t.Context(), check.ID, checks.PingQuery{}))
		if err != nil {
			t.Fatal(err)
		}
		recorded := make(map[uuid.UUID]bool)
		for _, ping := range log {
			recorded[ping.RunID.UUID] = true
		}
		for i, run := range j.acknowledged[check.ID] {
			if !recorded[run] {
				t.Errorf("%v: ping %d of %d was acknowledged and is lost", check.ID, i+1, len(j.acknowledged[check.ID]))
			}
		}
		list, err := checks.Collect(j.api.Flips(t.Context(), check.ID, flips.Range{}))
		if err != nil || len(list) != 1 || !list[0].Up {
			t.Errorf("%v: flips %+v, %v", check.ID, list, err)
		}
	}
}
