package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

const (
	// startTime is how much time to start the server asks for at once.
	startTime = time.Minute
	// startEvery is how often it asks.
	startEvery = 20 * time.Second
	// stopReserve is the time to stop after the shutdown timeout: for alerts that are being sent, and the database.
	stopReserve = 30 * time.Second
)

// systemd reports the state of the server to the service manager, by the protocol of sd_notify(3). Under any other
// manager it does nothing.
type systemd struct {
	log        *slog.Logger
	startEvery time.Duration
	ended      chan struct{} // closed by close

	started sync.Once
	begun   chan struct{}  // closed by ready
	asking  sync.WaitGroup // the goroutine that asks for time to start

	mu     sync.Mutex
	status string // the last one of starting, ready or stopping
}

func newSystemd(log *slog.Logger) *systemd {
	return &systemd{
		log: component(log, "systemd"), startEvery: startEvery,
		ended: make(chan struct{}), begun: make(chan struct{}),
	}
}

// close ends the goroutines, but does not wait for a watchdog whose probe hangs.
func (s *systemd) close() {
	close(s.ended)
	s.asking.Wait()
}

// send sends variables in one message.
func (s *systemd) send(variables ...string) {
	if _, err := daemon.SdNotify(false, strings.Join(variables, "\n")); err != nil {
		s.log.Warn("systemd cannot be notified", "error", err)
	}
}

// report sends variables with a status, a line for people.
func (s *systemd) report(status string, variables ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
	s.send(append(variables, "STATUS="+status)...)
}

// extend asks for at least that much more time to start or to stop.
func extend(by time.Duration) string {
	return fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", by.Microseconds())
}

// starting keeps asking for time to start until ready, close or the end of ctx, because the migrations of a large
// database may take longer than TimeoutStartSec.
func (s *systemd) starting(ctx context.Context, status string) {
	s.report(status, extend(startTime))
	s.asking.Go(func() {
		ticker := time.NewTicker(s.startEvery)
		defer ticker.Stop()
		for {
			select {
			case <-s.begun:
				return
			case <-s.ended:
				return
			case <-ctx.Done():
				return
			case <-ticker.C:
				s.send(extend(startTime))
			}
		}
	})
}

// ready reports that the server takes pings. The first call starts to feed the watchdog, if there is one, while problem
// returns "".
func (s *systemd) ready(status string, problem func() string) {
	s.started.Do(func() {
		close(s.begun)
		s.asking.Wait() // from now on, more time would be more time for the watchdog
		timeout, err := daemon.SdWatchdogEnabled(false)
		if err != nil {
			s.log.Warn("the watchdog of systemd is off", "error", err)
		}
		if timeout > 0 {
			go func() {
				ticker := time.NewTicker(max(timeout/2, 1))
				defer ticker.Stop()
				s.watch(ticker.C, problem)
			}()
		}
	})
	s.report(status, daemon.SdNotifyReady)
}

// watch feeds the watchdog at each tick while problem returns "". A problem that hangs starves the watchdog too.
func (s *systemd) watch(ticks <-chan time.Time, problem func() string) {
	for last := ""; ; {
		select {
		case <-s.ended:
			return
		case <-ticks:
		}
		found := problem()
		switch {
		case found == "" && last == "":
			s.send(daemon.SdNotifyWatchdog)
		case found == "":
			s.mu.Lock()
			status := s.status
			s.mu.Unlock()
			s.send(daemon.SdNotifyWatchdog, "STATUS="+status)
		case found != last:
			s.log.Error("the watchdog of systemd is not fed, because the server does not work", "problem", found)
			s.send("STATUS=" + found)
		}
		last = found
	}
}

// stopping reports the shutdown, and asks for the time that it may take.
func (s *systemd) stopping(status string, atMost time.Duration) {
	s.report(status, daemon.SdNotifyStopping, extend(atMost+stopReserve))
}

// problem returns what keeps /livez from answering 200, or "". It calls the handler directly: a connection could be refused
// because there are too many, which a restart would not mend.
func (f *front) problem() string {
	r, err := http.NewRequest(http.MethodGet, "/livez", nil)
	if err != nil {
		return err.Error()
	}
	r.RemoteAddr = "127.0.0.1:0"
	answer := memoryAnswer{header: make(http.Header)}
	f.ServeHTTP(&answer, r)
	if answer.status == http.StatusOK {
		return ""
	}
	return console.OneLine(answer.body.String())
}

// memoryAnswer keeps the answer to a request.
type memoryAnswer struct {
	header http.Header
	status int
	body   strings.Builder
}

func (a *memoryAnswer) Header() http.Header         { return a.header }
func (a *memoryAnswer) WriteHeader(status int)      { a.status = status }
func (a *memoryAnswer) Write(p []byte) (int, error) { return a.body.Write(p) }
