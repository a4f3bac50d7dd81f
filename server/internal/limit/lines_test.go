package limit

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestLines: the first event is logged at once. While events go on, each pause is twice as long, up to a minute, and each line counts
// those that it has left out. After a minute without a line, it begins again.
func TestLines(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, interval := range []time.Duration{0, time.Minute} {
		l := Lines{Interval: interval}
		if interval == 0 {
			interval = time.Second
		}
		for _, test := range []struct {
			after    time.Duration
			unlogged int
			ok       bool
		}{
			{0, 0, true}, {interval - 1, 0, false}, {interval - 1, 0, false}, {interval, 2, true},
			{0, 0, true}, // the clock was set back
		} {
			if unlogged, ok := l.Pass(start.Add(test.after)); unlogged != test.unlogged || ok != test.ok {
				t.Errorf("each %v, after %v: %d, %t, want %d, %t", interval, test.after, unlogged, ok, test.unlogged, test.ok)
			}
		}
	}
	var l Lines
	var at []time.Duration
	events, logged := 0, 0
	for after := time.Duration(0); after < 5*time.Minute; after += 100 * time.Millisecond {
		events++
		if unlogged, ok := l.Pass(start.Add(after)); ok {
			at = append(at, after)
			logged += 1 + unlogged
		}
	}
	if want := []time.Duration{0, 1e9, 3e9, 7e9, 15e9, 31e9, 63e9, 123e9, 183e9, 243e9}; !slices.Equal(at, want) {
		t.Errorf("lines at %v, want %v", at, want)
	}
	if unlogged, ok := l.Pass(start.Add(time.Hour)); !ok || logged+unlogged != events {
		t.Errorf("%d of %d events are counted, passed %t", logged+unlogged, events, ok)
	}
	if _, ok := l.Pass(start.Add(time.Hour + time.Second)); !ok {
		t.Error("after an hour, the pause is longer than a second")
	}
}

// TestRepeats: of many events, the first with a key is a line at once, and the others are counted, down to the last one. Many keys
// make no more lines than a few do.
func TestRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedText
		log := slog.New(slog.NewTextHandler(&out, nil))
		var r Repeats
		counted := func() (lines, events int) {
			synctest.Wait()
			for line := range strings.Lines(out.String()) {
				lines++
				_, times, several := strings.Cut(line, "times=")
				n, err := strconv.Atoi(strings.TrimSpace(times))
				if several != (err == nil) {
					t.Fatal(line)
				}
				events += max(1, n)
			}
			return lines, events
		}
		for range 1000 {
			r.Log(log, slog.LevelWarn, "192.0.2.1", "refused", "address", "192.0.2.1")
		}
		if lines, _ := counted(); lines != 1 {
			t.Errorf("%d lines at once, want 1: %s", lines, out.String())
		}
		time.Sleep(time.Hour)
		if lines, events := counted(); lines != 2 || events != 1000 {
			t.Errorf("%d lines about %d events, want 2 about 1000: %s", lines, events, out.String())
		}
		out.Reset()
		for i := range 10_000 {
			address := fmt.Sprint(i)
			r.Log(log, slog.LevelWarn, address, "refused", "address", address)
		}
		time.Sleep(time.Hour)
		if lines, events := counted(); lines != maxRepeats+2 || events != 10_000 {
			t.Errorf("%d lines about %d events of 10,000 keys, want %d", lines, events, maxRepeats+2)
		}
		if len(r.known) != 0 {
			t.Errorf("%d keys are remembered", len(r.known))
		}
	})
}

// lockedText is a log that timers write.
type lockedText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lockedText) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// TestNames logs each name once, and no more names than clients may fill the log with.
func TestNames(t *testing.T) {
	var n Names
	passed := 0
	for i := range 500 {
		for range 2 {
			if n.Pass(fmt.Sprint(i)) {
				passed++
			}
		}
	}
	if passed != maxNames {
		t.Errorf("%d names passed, want %d", passed, maxNames)
	}
}

// TestDetach: a request goes on when its client has closed its side, and ends by itself.
func TestDetach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, gone := context.WithCancel(t.Context())
		r, cancel := Detach(httptest.NewRequest("GET", "/", nil).WithContext(ctx))
		defer cancel()
		gone()
		synctest.Wait()
		if err := r.Context().Err(); err != nil {
			t.Errorf("the request has ended: %v", err)
		}
		begin := time.Now()
		<-r.Context().Done()
		if took := time.Since(begin); took != AnswerTime {
			t.Errorf("the request ended after %v", took)
		}
	})
}
