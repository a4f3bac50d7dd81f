package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

const (
	// soakChecks share the load. The log of each is full after a while, so that pings are removed as fast as they come.
	soakChecks = 40
	// soakClients ping at once, at most.
	soakClients = 32
	// calibration is how long the highest rate is measured.
	calibration = 5 * time.Second
	// soakSamples is how many points a graph has.
	soakSamples = 300
)

// sample is what was seen in one interval of a soak.
type sample struct {
	at         time.Duration // since the start, at the end of the interval
	rate       float64       // pings a second that were acknowledged
	p50, p99   time.Duration // of their answers
	memory     uint64        // bytes
	goroutines float64       // 0 when unknown
	files      int64         // bytes of the database
	failed     int
}

// soak is a server under steady load.
type soak struct {
	*site
	paths []string

	mu     sync.Mutex
	took   []time.Duration // of the pings since the last sample
	failed int

	acknowledged int64 // in all
}

func runSoak(ctx context.Context, s *site, o options) (fmt.Stringer, error) {
	k := &soak{site: s}
	list, err := s.createMany(ctx, "soak", soakChecks)
	if err != nil {
		return nil, err
	}
	for _, made := range list {
		k.paths = append(k.paths, "/ping/"+made.id.String())
	}
	highest := k.calibrate(ctx)
	report := &soakReport{highest: highest, lasts: o.soak, graph: filepath.Join(o.dir, "soak-"+o.database+".svg")}
	report.samples = k.keep(ctx, highest/2, o.soak)
	if len(report.samples) == 0 {
		return nil, errors.New("the soak is too short for a sample")
	}
	report.judge(s)
	return report, errors.Join(k.count(ctx), report.draw())
}

// count holds that as many pings were recorded as were acknowledged, and none of the older ones kept.
func (k *soak) count(ctx context.Context) error {
	db, err := k.open()
	if err != nil {
		return err
	}
	defer db.Close()
	var recorded, kept int64
	row := db.QueryRowContext(ctx, "SELECT sum(n_pings), (SELECT count(*) FROM rollcall_pings) FROM rollcall_states")
	if err := row.Scan(&recorded, &kept); err != nil {
		return err
	}
	if recorded < k.acknowledged {
		k.problem("soak: %d pings were recorded, %d were acknowledged", recorded, k.acknowledged)
	}
	// What can be removed is never more than what is kept, but for what has come since the last look.
	if most := 3 * int64(len(k.paths)) * checks.PaidPings; kept > most {
		k.problem("soak: %d pings are kept, want %d at most", kept, most)
	}
	return nil
}

// calibrate returns how many pings a second the server takes.
func (k *soak) calibrate(ctx context.Context) float64 {
	working, stop := context.WithTimeout(ctx, calibration)
	defer stop()
	var wg sync.WaitGroup
	for c := range soakClients {
		wg.Go(func() {
			for n := c; working.Err() == nil; n++ {
				k.ping(ctx, n, time.Now())
			}
		})
	}
	wg.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	rate := float64(len(k.took)) / calibration.Seconds()
	k.took, k.failed = nil, 0
	return rate
}

// ping sends a ping whose turn was at the given time, and notes when its answer has come.
func (k *soak) ping(ctx context.Context, n int, due time.Time) {
	a, err := k.send(context.WithoutCancel(ctx),
		request{method: http.MethodPost, path: k.paths[n%len(k.paths)], body: "all is well", userAgent: "soak"})
	took := time.Since(due)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil || a.status != http.StatusOK {
		k.failed++
		return
	}
	k.took = append(k.took, took)
	k.acknowledged++
}

// keep pings at a rate for a while, whatever the answers are, and takes samples. A ping whose turn has come while all
// clients wait is sent as soon as one is free, and its latency counts from its turn.
func (k *soak) keep(ctx context.Context, rate float64, lasts time.Duration) (samples []sample) {
	working, stop := context.WithTimeout(ctx, lasts)
	defer stop()
	began := time.Now()
	turns := make(chan int, int(rate)+1)
	var wg sync.WaitGroup
	for range soakClients {
		wg.Go(func() {
			for n := range turns {
				k.ping(ctx, n, began.Add(time.Duration(float64(n)/rate*float64(time.Second))))
			}
		})
	}
	wg.Go(func() {
		defer close(turns)
		for n := 0; sleep(working, time.Millisecond); {
			for due := int(time.Since(began).Seconds() * rate); n < due; n++ {
				select {
				case turns <- n:
				default: // a second behind: what cannot be kept up with is seen in the rate
				}
			}
		}
	})
	interval := max(time.Second, lasts/soakSamples)
	for last := began; sleep(working, time.Until(last.Add(interval))); {
		now := time.Now()
		samples = append(samples, k.sample(ctx, now.Sub(began), now.Sub(last)))
		last = now
	}
	wg.Wait()
	return samples
}

func (k *soak) sample(ctx context.Context, at, interval time.Duration) sample {
	k.mu.Lock()
	took, failed := k.took, k.failed
	k.took, k.failed = nil, 0
	k.mu.Unlock()
	slices.Sort(took)
	return sample{
		at: at, rate: float64(len(took)) / interval.Seconds(), p50: percentile(took, 0.5), p99: percentile(took, 0.99),
		memory: memory(k.servers[0].pid()), goroutines: k.goroutines(), files: k.size(ctx), failed: failed,
	}
}

// goroutines reads how many goroutines the server has from its metrics.
func (k *soak) goroutines() (n float64) {
	match := regexp.MustCompile(`metrics on (\S+)`).FindStringSubmatch(k.servers[0].greeting)
	if match == nil {
		return 0
	}
	res, err := k.kept.Get(match[1])
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), "go_goroutines "); found {
			n, _ = strconv.ParseFloat(value, 64)
		}
	}
	return n
}

// size returns how much the database takes on the disk.
func (k *soak) size(ctx context.Context) (bytes int64) {
	if k.postgres {
		if db, err := k.open(); err == nil {
			defer db.Close()
			_ = db.QueryRowContext(ctx, "SELECT pg_database_size(current_database())").Scan(&bytes)
		}
		return bytes
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if info, err := os.Stat(strings.TrimPrefix(k.database, "sqlite:") + suffix); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// soakReport is what became of a soak.
type soakReport struct {
	highest float64 // pings a second before it
	lasts   time.Duration
	samples []sample
	graph   string // the file
}

// half returns the mean of a value in the first or the second half of the time, without the first tenth, in which
// logs and caches fill.
func (r *soakReport) half(second bool, value func(sample) float64) float64 {
	start := len(r.samples) / 10
	middle := (start + len(r.samples)) / 2
	part := r.samples[start:max(middle, start+1)]
	if second {
		part = r.samples[min(middle, len(r.samples)-1):]
	}
	sum := 0.0
	for _, s := range part {
		sum += value(s)
	}
	return sum / float64(len(part))
}

// judge holds that nothing failed and, in a soak that is long enough to tell, that nothing grows.
func (r *soakReport) judge(s *site) {
	failed := 0
	for _, one := range r.samples {
		failed += one.failed
	}
	if failed > 0 {
		s.problem("soak: %d pings failed", failed)
	}
	if r.lasts < 10*time.Minute {
		return
	}
	for _, what := range r.panels() {
		if !what.bounded {
			continue
		}
		if first, second := r.half(false, what.value), r.half(true, what.value); second > 1.5*first {
			s.problem("soak: %s grows: %.1f in the first half, %.1f in the second", what.name, first, second)
		}
	}
}

func (r *soakReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v at half of %.0f pings a second; graph in %s\n", r.lasts, r.highest, r.graph)
	fmt.Fprintf(&b, "  %-28s %12s %12s %12s\n", "", "first half", "second half", "most")
	for _, p := range r.panels() {
		most := 0.0
		for _, s := range r.samples {
			most = max(most, p.value(s))
		}
		fmt.Fprintf(&b, "  %-28s %12.1f %12.1f %12.1f\n", p.name, r.half(false, p.value), r.half(true, p.value), most)
	}
	return strings.TrimRight(b.String(), "\n")
}

// draw writes the graph.
func (r *soakReport) draw() error {
	file, err := os.Create(r.graph)
	if err != nil {
		return err
	}
	return errors.Join(r.svg(file), file.Close())
}
