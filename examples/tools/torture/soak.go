package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/examples/internal/program"
	"github.com/rollcall-dev/rollcall/examples/tools/internal/loadgen"
)

const (
	// soakChecks share the load. Their logs are soon full, so that the server prunes as fast as pings come.
	soakChecks = 40
	// calibration is how long the highest rate is measured.
	calibration = 5 * time.Second
	// soakSamples is the number of samples of a long soak.
	soakSamples = 300
)

// soakFigures name the figures of a sample.
var soakFigures = [...]struct {
	name    string
	bounded bool // must not grow with time
}{
	{"pings a second", false}, {"median latency, ms", false}, {"p99 latency, ms", false},
	{"memory, MB", true}, {"database, MB", true}, {"goroutines", true},
}

// sample holds the figures of one interval, in the order of soakFigures.
type sample [len(soakFigures)]float64

// runSoak puts a server under half of its highest load. No ping may fail, every acknowledged ping must be recorded, the
// log must stay pruned, and in a long soak nothing may grow.
func runSoak(ctx context.Context, s *site, o options) (report string, err error) {
	list, err := s.create(ctx, "soak", soakChecks, timeouts()[0])
	if err != nil {
		return "", err
	}
	load := loadgen.Load{
		Servers:     []string{strings.TrimPrefix(s.servers[0].Greeting().URL, "http://")},
		Connections: 32, Body: 10, Duration: calibration,
	}
	for _, made := range list {
		load.Checks = append(load.Checks, made.id.String())
	}
	highest, err := load.Run(ctx)
	if err != nil {
		return "", err
	}
	r := &soakReport{lasts: o.Soak, highest: highest.Rate}
	acknowledged := len(highest.Latencies)
	load.Rate, load.Duration = highest.Rate/2, max(time.Second, o.Soak/soakSamples)
	for end := time.Now().Add(o.Soak); time.Now().Before(end); {
		pings, err := load.Run(ctx)
		if err != nil {
			return "", err
		}
		acknowledged += len(pings.Latencies)
		taken, err := s.sample(ctx, pings)
		if err != nil {
			return "", err
		}
		r.samples = append(r.samples, taken)
	}
	r.judge(s)
	return r.String(), s.auditSoak(ctx, int64(acknowledged))
}

func (s *site) sample(ctx context.Context, pings loadgen.Result) (sample, error) {
	memory, _ := program.Memory(s.servers[0].PID())
	metrics, err := s.servers[0].Metrics(ctx)
	size, sizeErr := s.size(ctx)
	milliseconds := func(share float64) float64 { return pings.Quantile(share).Seconds() * 1000 }
	const mega = 1 << 20
	return sample{
		pings.Rate, milliseconds(0.5), milliseconds(0.99), float64(memory) / mega, float64(size) / mega, metrics["go_goroutines"],
	}, errors.Join(err, sizeErr)
}

// size returns how many bytes the database takes on the disk.
func (s *site) size(ctx context.Context) (bytes int64, err error) {
	if s.postgres {
		err = s.db.QueryRowContext(ctx, "SELECT pg_database_size(current_database())").Scan(&bytes)
		return bytes, err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if info, err := os.Stat(strings.TrimPrefix(s.database, "sqlite:") + suffix); err == nil {
			bytes += info.Size()
		}
	}
	return bytes, nil
}

// auditSoak checks that the database has recorded every acknowledged ping and pruned the old ones.
func (s *site) auditSoak(ctx context.Context, acknowledged int64) error {
	var recorded, kept int64
	row := s.db.QueryRowContext(ctx, "SELECT sum(n_pings), (SELECT count(*) FROM rollcall_pings) FROM rollcall_states")
	if err := row.Scan(&recorded, &kept); err != nil {
		return err
	}
	if recorded < acknowledged {
		s.problem("%d pings were recorded, %d were acknowledged", recorded, acknowledged)
	}
	// Pruning goes round the log at twice the pace of its growth, so there are never more entries to remove than to keep,
	// apart from those since the last round.
	if most := int64(3 * soakChecks * keptPings); kept > most {
		s.problem("%d pings are kept, want %d at most", kept, most)
	}
	return nil
}

// soakReport is what became of a soak.
type soakReport struct {
	lasts   time.Duration
	highest float64 // pings a second
	samples []sample
}

// halves returns the means of a figure in both halves of the time. They leave out the first tenth, in which logs and
// caches fill.
func (r *soakReport) halves(figure int) (first, second float64) {
	rest := r.samples[len(r.samples)/10:]
	middle := (len(rest) + 1) / 2
	mean := func(part []sample) (sum float64) {
		for _, s := range part {
			sum += s[figure] / float64(len(part))
		}
		return sum
	}
	return mean(rest[:middle]), mean(rest[len(rest)-middle:])
}

// judge checks that nothing grows, if the soak was long enough to tell.
func (r *soakReport) judge(s *site) {
	if r.lasts < 10*time.Minute {
		return
	}
	for i, figure := range soakFigures {
		if first, second := r.halves(i); figure.bounded && second > 1.5*first {
			s.problem("%s grows: %.1f in the first half, %.1f in the second", figure.name, first, second)
		}
	}
}

func (r *soakReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v at half of %.0f pings a second\n  %-20s %12s %12s %12s", r.lasts, r.highest, "", "first half", "second half", "most")
	for i, figure := range soakFigures {
		first, second := r.halves(i)
		most := 0.0
		for _, s := range r.samples {
			most = max(most, s[i])
		}
		fmt.Fprintf(&b, "\n  %-20s %12.1f %12.1f %12.1f", figure.name, first, second, most)
	}
	return b.String()
}
