package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

const (
	// answerWithin is how long a ping may wait for its answer while PostgreSQL is gone, and recoverWithin how long pings
	// may fail once it is back.
	answerWithin, recoverWithin = 5 * time.Second, 2 * time.Second
	// maxOutageMemory bounds the memory of the server.
	maxOutageMemory = 512 << 20
)

// takeDatabase takes PostgreSQL away from the servers: it stops, it accepts connections and never answers, as behind a network
// that drops packets, or it loses the table of pings.
func (s *site) takeDatabase() {
	switch {
	case s.silent:
		s.freeze(syscall.SIGSTOP)
	case s.broken:
		if _, err := s.db.Exec("ALTER TABLE rollcall_pings RENAME TO lost"); err != nil {
			s.problem("take a table away: %v", err)
		}
	default:
		s.pg.Stop()
	}
}

// giveDatabaseBack undoes takeDatabase.
func (s *site) giveDatabaseBack(ctx context.Context) error {
	if s.silent {
		s.freeze(syscall.SIGCONT)
		return nil
	}
	if s.broken {
		_, err := s.db.ExecContext(ctx, "ALTER TABLE lost RENAME TO rollcall_pings")
		return err
	}
	return s.pg.Start(ctx)
}

// freeze sends a signal to all processes of PostgreSQL. The first starts the others, so it gets the signal before they are
// listed.
func (s *site) freeze(signal syscall.Signal) {
	err := syscall.Kill(s.pg.PID(), signal)
	time.Sleep(10 * time.Millisecond) // until it has arrived
	for _, child := range program.WithChildren(s.pg.PID())[1:] {
		_ = syscall.Kill(child, signal) // fails only if it has just ended
	}
	if err != nil {
		s.problem("signal PostgreSQL: %v", err)
	}
}

// outageReport is what was seen of an outage.
type outageReport struct {
	gone, went      time.Duration // when the database began to go, and had gone
	restoring, back time.Duration // when it began to return, and had returned

	answered       int           // pings answered during the outage
	slowest        time.Duration // of them
	failedAfter    int           // pings that failed once the database was back
	recovered      time.Duration // the last of them, since the database was back
	memory, before uint64        // peak memory, and memory before the outage
}

func (r *outageReport) String() string {
	return fmt.Sprintf("%d pings answered during the outage, the slowest after %v; after it %d failed, the last after %v; "+
		"memory %d MB, %d MB before", r.answered, r.slowest.Round(time.Millisecond),
		r.failedAfter, r.recovered.Round(time.Millisecond), r.memory>>20, r.before>>20)
}

// runOutage takes the database away under load for a while, and gives it back.
func runOutage(ctx context.Context, s *site, o options) (report string, err error) {
	const pingers, jobs = 24, 48
	list, err := s.create(ctx, "outage", jobs, timeouts()[0])
	if err != nil {
		return "", err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	for i := range pingers {
		group.Go(func() {
			s.pingAll(working, list, pinger{number: i, body: largeBody, afterRefusal: 20 * time.Millisecond})
		})
	}
	sleep(ctx, time.Second)
	r := new(outageReport)
	r.before, _ = program.Memory(s.servers[0].PID())
	r.gone = time.Since(s.began)
	s.takeDatabase()
	r.went = time.Since(s.began)
	sleep(ctx, o.Outage/2)
	if !s.broken { // its query needs no table
		s.checkStatus(ctx)
	}
	sleep(ctx, time.Until(s.began.Add(r.gone+o.Outage)))
	r.restoring = time.Since(s.began)
	if err := s.giveDatabaseBack(ctx); err != nil {
		return "", err
	}
	r.back = time.Since(s.began)
	sleep(ctx, 2*recoverWithin)
	stop()
	group.Wait()
	_, r.memory = program.Memory(s.servers[0].PID())
	r.judge(s)
	return r.String(), s.auditPings(ctx, list, nil)
}

// checkStatus checks that the status endpoint reports the outage.
func (s *site) checkStatus(ctx context.Context) {
	api, err := client.New(s.servers[0].Greeting().URL, s.keys.Key, nil)
	if err == nil {
		err = api.Probe(ctx)
	}
	if refused, ok := errors.AsType[*client.Error](err); !ok || refused.StatusCode != http.StatusInternalServerError {
		s.problem("the status endpoint answers during the outage: %v", err)
	}
}

// judge compares the answers with what they must be.
func (r *outageReport) judge(s *site) {
	for _, p := range s.results {
		if p.ret > r.gone && p.call < r.restoring {
			r.answered++
			r.slowest = max(r.slowest, p.ret-p.call)
			if p.call > r.went && p.status == http.StatusOK && p.ret < r.restoring {
				s.problem("a ping was acknowledged while there was no database")
			}
		}
		if p.call > r.back && p.status != http.StatusOK {
			r.failedAfter++
			r.recovered = max(r.recovered, p.ret-r.back)
		}
	}
	if r.answered == 0 {
		s.problem("no ping was answered during the outage")
	}
	if r.slowest > answerWithin+s.slack {
		s.problem("a ping was answered only after %v", r.slowest)
	}
	if r.recovered > recoverWithin+s.slack {
		s.problem("a ping failed %v after the database was back", r.recovered)
	}
	if r.memory > maxOutageMemory {
		s.problem("the server used %d MB", r.memory>>20)
	}
}
