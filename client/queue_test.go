//go:build unix

package client_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
)

// line is a server behind a line that a test cuts. It records the pings that arrive, each as its signal, body and time.
type line struct {
	mu   sync.Mutex
	down any // what every request gets, as in a script; nil for OK
	// fault returns what a request gets in particular, or nil.
	fault func(ping string) any
	got   []string
	asked int     // requests
	errs  []error // of the background
}

// note notes an error of the background.
func (l *line) note(_ context.Context, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, err)
}

// noted returns the errors of the background since the last call, as one.
func (l *line) noted() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	errs := l.errs
	l.errs = nil
	return errors.Join(errs...)
}

func (l *line) set(down any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	ping := strings.TrimSpace(filepath.Base(r.URL.Path) + " " + string(body))
	l.mu.Lock()
	l.asked++
	answer, fault := l.down, l.fault
	l.mu.Unlock()
	if fault != nil && answer == nil {
		answer = fault(ping)
	}
	l.mu.Lock()
	if answer == nil {
		if at := r.Header.Get("Rollcall-At"); at != "" {
			ping += " at " + at
		}
		l.got = append(l.got, ping)
	}
	l.mu.Unlock()
	return (&script{answers: []any{answer}, success: "OK"}).RoundTrip(r)
}

// taken returns the pings that have arrived since the last call.
func (l *line) taken() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	got := l.got
	l.got = nil
	return got
}

// pinger returns a pinger with a queue.
func (l *line) pinger(t *testing.T, dir string) *client.Pinger {
	t.Helper()
	config := &client.PingerConfig{Queue: dir, HTTPClient: &http.Client{Transport: l}}
	config.Job.OnPingError = l.note
	p, err := client.NewPinger("https://rollcall.example.org/ping/secret", config)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, p)
	return p
}

// files returns the files of a queue except the lock, by their extension.
func files(t *testing.T, dir, ext string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*", "*"+ext))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A queue keeps how much was left out of a body, and adds what the server's limit takes by then.
func TestQueueOfCutBodies(t *testing.T) {
	s := serve(t, server.Config{PingBodyLimit: 10}, "paid")
	c := s.create(checks.Spec{})
	dir, away := t.TempDir(), true
	p, err := client.NewPinger(c.PingURL, &client.PingerConfig{Queue: dir, Tries: 1, HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if away {
			return nil, errors.New("cut off")
		}
		return http.DefaultTransport.RoundTrip(r)
	})}, Job: job.Config{OnPingError: func(context.Context, error) {}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{strings.Repeat("x", 100_000) + "the end", "0123456789abcdef"} {
		if err := p.Ping(t.Context(), pings.Signal{Kind: pings.Log, Body: []byte(body), BodyCharset: "koi8-r"}); !errors.Is(err, client.ErrQueued) {
			t.Error(err)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	away = false
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []pings.Ping{{Body: []byte("xxxxxe end"), BodyCut: 99_997}, {Body: []byte("01234bcdef"), BodyCut: 6}} {
		got, err := s.mon.Project(s.project.ID).PingWithBody(t.Context(), c.ID, int64(i)+1)
		if err != nil || string(got.Body) != string(want.Body) || got.BodyCut != want.BodyCut || got.BodyCharset != "koi8-r" {
			t.Errorf("%q without %d bytes in %q, %v; want %q without %d", got.Body, got.BodyCut, got.BodyCharset, err, want.Body, want.BodyCut)
		}
	}
}

// Pings that could not be sent are sent later, in order and with their own time, before the next one.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins at 2000-01-01T00:00:00Z
		dir := t.TempDir()
		l := &line{down: refused}
		p := l.pinger(t, dir)
		run, err := p.Start(t.Context())
		if !errors.Is(err, client.ErrQueued) || strings.Contains(err.Error(), "secret") {
			t.Errorf("start: %v", err)
		}
		time.Sleep(time.Hour - time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)))
		if err := run.ExitStatus(t.Context(), 3, []byte("é\x00\xff")); !errors.Is(err, client.ErrQueued) {
			t.Errorf("exit status: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the job was interrupted
		if err := p.Log(ctx, nil); !errors.Is(err, client.ErrQueued) {
			t.Errorf("log: %v", err)
		}
		if got := l.taken(); len(got) > 0 || len(files(t, dir, ".ping")) != 3 {
			t.Errorf("arrived %q, kept %q", got, files(t, dir, ""))
		}
		time.Sleep(time.Hour) // the background gives up
		for _, path := range append(files(t, dir, ".ping"), dir+"/*") {
			if data, _ := os.ReadFile(path); strings.Contains(path, "secret") || strings.Contains(string(data), "secret") {
				t.Errorf("%s shows the ping URL", path)
			}
			if info, err := os.Stat(path); err == nil && info.Mode().Perm() != 0o600 {
				t.Errorf("%s: mode %v", path, info.Mode())
			}
		}
		l.set(nil)
		time.Sleep(time.Hour)
		p = l.pinger(t, dir) // another process
		if err := p.Success(t.Context(), nil); !errors.Is(err, client.ErrQueued) {
			t.Error(err)
		}
		_ = l.noted()
		if err := errors.Join(p.Close(t.Context()), l.noted()); err != nil {
			t.Error(err)
		}
		got := l.taken()
		if len(got) != 4 || !strings.HasPrefix(got[2], "log at 2000-01-01T01:0") {
			t.Fatalf("arrived %q", got)
		}
		equal(t, "arrived", slices.Delete(got, 2, 3), []string{"start at 2000-01-01T00:00:00.000000Z", "3 é\x00\xff at 2000-01-01T01:00:00.000000Z", "secret"})
		if rest := files(t, dir, ".ping"); len(rest) > 0 {
			t.Errorf("kept %q", rest)
		}
	})
}

// A server that accepts late pings logs them at their own time, any other at their arrival. Both have them in order.
func TestQueueOnAServer(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Minute, 24 * time.Hour} {
		t.Run(limit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := serveInMemory(t, server.Config{AcceptLate: limit})
				c := m.client(t, client.Config{})
				check, err := c.Create(t.Context(), checks.Spec{Timeout: new(time.Hour)})
				if err != nil {
					t.Fatal(err)
				}
				config := client.PingerConfig{Queue: t.TempDir(), Tries: 1, HTTPClient: &http.Client{Transport: &line{down: refused}}}
				away, err := client.NewPinger(check.PingURL, &config)
				if err != nil {
					t.Fatal(err)
				}
				closeAtEnd(t, away)
				sent := time.Now()
				_ = away.Success(t.Context(), []byte("one"))
				_ = away.Failure(t.Context(), []byte("two"))
				time.Sleep(10 * time.Minute)
				config.HTTPClient = &http.Client{Transport: m}
				p, err := client.NewPinger(check.PingURL, &config)
				if err != nil {
					t.Fatal(err)
				}
				err = p.Flush(t.Context())
				list, err2 := checks.Collect(c.Pings(t.Context(), check.ID, checks.PingQuery{}))
				if err2 != nil {
					t.Fatal(err2)
				}
				if limit == time.Minute { // too late
					if err == nil || errors.Is(err, client.ErrQueued) || strings.Count(err.Error(), "was refused and is now in") != 2 || len(list) > 0 {
						t.Errorf("%v, log %+v", err, list)
					}
					return
				}
				if err != nil || len(list) != 2 || list[0].Kind != "fail" || list[1].Kind != "success" {
					t.Fatalf("%v, log %+v", err, list)
				}
				for _, ping := range list {
					if isLate := ping.At.Sub(sent) < time.Minute; isLate != (limit > 0) {
						t.Errorf("sent at %v, logged at %v", sent, ping.At)
					}
				}
				if got, err := c.Check(t.Context(), check.ID); err != nil || got.Status != checks.StatusDown {
					t.Error(got.Status, err)
				}
				if err := errors.Join(p.Flush(t.Context()), (*client.Pinger)(nil).Flush(t.Context())); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestWhatIsQueued(t *testing.T) {
	page := func(status int, body string) *http.Response { return respond(nil, status, "text/html", body) }
	for name, test := range map[string]struct {
		answer func() any
		queued bool
	}{
		"refused": {func() any { return refused }, true}, "hang": {func() any { return "hang" }, true},
		"500": {func() any { return 500 }, true}, "502": {func() any { return 502 }, true}, "503": {func() any { return 503 }, true},
		"429":         {func() any { return 429 }, true},
		"nginx":       {func() any { return page(404, nginx) }, true},
		"login page":  {func() any { return page(200, "<form>") }, true},
		"not found":   {func() any { return page(404, "not found") }, false},
		"ambiguous":   {func() any { return page(409, "ambiguous slug") }, false},
		"bad request": {func() any { return page(400, "invalid url format") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, dir := &line{}, t.TempDir()
				l.fault = func(string) any { return test.answer() }
				err := l.pinger(t, dir).Success(t.Context(), nil)
				if err == nil || errors.Is(err, client.ErrQueued) != test.queued || (len(files(t, dir, ".ping")) == 1) != test.queued {
					t.Errorf("%v, files %q", err, files(t, dir, ""))
				}
			})
		})
	}
}

// Only the first ping of an outage waits for an answer, for at most its timeout or the deadline of its context. The others
// wait in the queue, and their methods return at once, also when the server is back and gets a thousand old ones.
func TestQueueDelaysNoJob(t *testing.T) {
	for name, down := range map[string]any{"hang": "hang", "refused": refused, "reset": reset, "503": 503, "429": 429} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &line{down: down}
				p := l.pinger(t, t.TempDir())
				for i := range 5 {
					began, most := time.Now(), 3*time.Second
					if i > 0 {
						most = 0
					}
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
					if err := p.Success(ctx, nil); !errors.Is(err, client.ErrQueued) || time.Since(began) > most {
						t.Errorf("ping %d took %v: %v", i, time.Since(began), err)
					}
					cancel()
				}
				time.Sleep(10 * time.Minute) // the background gives up
				if err := l.noted(); !errors.Is(err, client.ErrQueued) {
					t.Errorf("in the background: %v", err)
				}
				l.mu.Lock()
				l.down, l.fault = nil, func(string) any { time.Sleep(4 * time.Second); return nil } // a slow server
				l.mu.Unlock()
				began := time.Now()
				jobErr := p.Run(t.Context(), func(context.Context) error { return errors.New("no tape") })
				if err := l.noted(); jobErr == nil || !errors.Is(err, client.ErrQueued) || time.Since(began) > 0 {
					t.Errorf("took %v: %v", time.Since(began), err)
				}
				if err := errors.Join(p.Close(t.Context()), l.noted()); err != nil {
					t.Error(err)
				}
				got := l.taken()
				if len(got) != 7 || !strings.HasPrefix(got[0], "secret at 2000-01-01T00:") || got[5] != "start" || got[6] != "fail no tape" {
					t.Errorf("arrived %q", got)
				}
			})
		})
	}
}

// While another process sends, a ping waits for it, and is kept if that takes too long.
func TestQueueIsLocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := &line{}
		p := l.pinger(t, dir)
		hold := func() *os.File {
			f, err := os.Open(files(t, dir, "lock")[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			return f
		}
		f := hold()
		time.AfterFunc(time.Second, func() { f.Close() })
		if err := p.Failure(t.Context(), nil); err != nil || time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) > 2*time.Second {
			t.Error(err)
		}
		held := hold()
		began := time.Now()
		if err := p.Success(t.Context(), nil); !errors.Is(err, client.ErrQueued) || time.Since(began) > 5*time.Second || l.asked > 1 {
			t.Errorf("took %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began = time.Now()
		if err := p.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*time.Second {
			t.Errorf("flush took %v: %v", time.Since(began), err)
		}
		held.Close()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		equal(t, "arrived", l.taken(), []string{"fail", "secret"})
	})
}

// A file that cannot be read is set aside and named, and the others are sent.
func TestCorruptQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := &line{down: refused}
		p := l.pinger(t, dir)
		bodies := []string{"cut", "empty", "flipped", "garbage", "directory", "pipe", "link", "whole"}
		for _, body := range bodies {
			_ = p.Failure(t.Context(), []byte(body))
		}
		time.Sleep(time.Hour) // the background gives up
		_ = l.noted()
		var pipe string
		for i, path := range files(t, dir, ".ping") {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			switch bodies[i] {
			case "cut":
				data = data[:len(data)-5]
			case "empty":
				data = nil
			case "flipped":
				data[len(data)-8] ^= 1
			case "garbage":
				data = []byte("\x00\xff\n{}")
			case "directory":
				if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
					t.Fatal(err)
				}
				continue
			case "pipe": // nobody writes to it, so reading it would wait forever
				if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
					t.Fatal(err)
				}
				pipe = path
				continue
			case "link":
				if err := errors.Join(os.Remove(path), os.Symlink(pipe, path)); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l.set(nil)
		if err := p.Success(t.Context(), nil); !errors.Is(err, client.ErrQueued) {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if err := l.noted(); err == nil || errors.Is(err, client.ErrQueued) || strings.Count(err.Error(), "cannot be read and is now in "+dir) != 7 {
			t.Errorf("error %v", err)
		}
		if got := l.taken(); len(got) != 2 || !strings.HasPrefix(got[0], "fail whole at ") || got[1] != "secret" {
			t.Errorf("arrived %q", got)
		}
		if kept := files(t, dir, ".corrupt"); len(kept) != 7 {
			t.Errorf("set aside %q", kept)
		}
		if err := p.Success(t.Context(), nil); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// A ping that a server or a proxy never takes does not hold up the others.
func TestRefusedInQueue(t *testing.T) {
	for name, answer := range map[string]func() any{
		"deleted check": func() any { return respond(nil, 404, "text/html", "not found") },
		"proxy":         func() any { return respond(nil, 413, "text/html", "<h1>413 Request Entity Too Large</h1>") },
		"fault":         func() any { return 500 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				l := &line{down: refused}
				p := l.pinger(t, dir)
				for _, body := range []string{"one", "bad", "two", "bad"} {
					_ = p.Failure(t.Context(), []byte(body))
				}
				time.Sleep(time.Hour)
				_ = l.noted()
				l.set(nil)
				l.fault = func(ping string) any {
					if strings.HasSuffix(ping, "bad") {
						return answer()
					}
					return nil
				}
				_ = p.Success(t.Context(), nil)
				time.Sleep(time.Second)
				if err := l.noted(); err == nil || errors.Is(err, client.ErrQueued) || strings.Count(err.Error(), "was refused and is now in "+dir) != 2 {
					t.Errorf("error %v", err)
				}
				if got := l.taken(); len(got) != 3 || got[2] != "secret" || len(files(t, dir, ".refused")) != 2 || len(files(t, dir, ".ping")) != 0 {
					t.Errorf("arrived %q, files %q", got, files(t, dir, ""))
				}
			})
		})
	}
	// If everything is refused, nothing is set aside.
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := &line{down: 500}
		p := l.pinger(t, dir)
		for i := range 6 {
			if err := p.Failure(t.Context(), nil); !errors.Is(err, client.ErrQueued) || len(files(t, dir, ".ping")) != i+1 {
				t.Errorf("%d: %v, files %q", i, err, files(t, dir, ""))
			}
		}
		time.Sleep(time.Hour)
		if err := p.Flush(t.Context()); !errors.Is(err, client.ErrQueued) {
			t.Error(err)
		}
		l.set(nil)
		if err := p.Flush(t.Context()); err != nil || len(l.taken()) != 6 {
			t.Error(err)
		}
	})
}

// The queue is bounded: the oldest pings go first, and the error says so.
func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := &line{down: refused}
		p := l.pinger(t, dir)
		if err := p.Failure(t.Context(), nil); !errors.Is(err, client.ErrQueued) {
			t.Fatal(err)
		}
		first := files(t, dir, ".ping")[0]
		data, err := os.ReadFile(first)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < 1000; i++ {
			if err := os.WriteFile(fmt.Sprintf("%s-%04d.ping", strings.TrimSuffix(first, ".ping"), i), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		_ = l.noted()
		const want = "it is full, so its oldest ping was deleted, of 2000-01-01T00:00:00Z"
		if err := p.Success(t.Context(), nil); !errors.Is(err, client.ErrQueued) {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if err := l.noted(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if n := len(files(t, dir, ".ping")); n != 1000 {
			t.Errorf("%d files", n)
		}
		// What was set aside goes first, and files of others stay.
		other := filepath.Join(filepath.Dir(first), "0-notes.txt")
		if err := errors.Join(os.WriteFile(other, nil, 0o600), os.Rename(files(t, dir, ".ping")[500], first+".corrupt")); err != nil {
			t.Fatal(err)
		}
		_ = p.Success(t.Context(), nil)
		time.Sleep(time.Hour)
		if _, err := os.Stat(other); err != nil || len(files(t, dir, ".ping")) != 1000 || len(files(t, dir, ".corrupt")) != 0 {
			t.Errorf("%v, %d files", err, len(files(t, dir, "")))
		}

		dir = t.TempDir()
		p = l.pinger(t, dir)
		l.set(respond(nil, 503, "", "", "Ping-Body-Limit", "9999999"))
		_ = p.Log(t.Context(), nil)
		l.set(refused)
		for i := range 4 {
			_ = l.noted()
			_ = p.Log(t.Context(), make([]byte, 9_000_000))
			time.Sleep(time.Hour)
			if full, err := i > 1, l.noted(); strings.Contains(err.Error(), "is full") != full {
				t.Errorf("%d: %v", i, err)
			}
		}
	})
}

// The order is that of the pings, even if the clock is set back. A time in the future is not sent.
func TestQueueAndClockSetBack(t *testing.T) {
	dir := t.TempDir()
	l := &line{down: refused}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour)
		_ = l.pinger(t, dir).Log(t.Context(), []byte("first"))
		time.Sleep(time.Minute)
	})
	synctest.Test(t, func(t *testing.T) { // an hour earlier
		p := l.pinger(t, dir)
		_ = p.Log(t.Context(), []byte("second"))
		_ = p.Log(t.Context(), []byte("third"))
		time.Sleep(2 * time.Minute)
		l.set(nil)
		if err := p.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		got := l.taken()
		for i, want := range []string{"log first", "log second at 2000-01-01T00:", "log third at 2000-01-01T00:"} {
			if len(got) != 3 || !strings.HasPrefix(got[i], want) {
				t.Errorf("arrived %q, want %s", got, want)
			}
		}
	})
}

// Goroutines and pingers share a queue: while the line comes and goes, every ping arrives exactly once.
func TestSharedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := &line{}
		var n atomic.Int64
		l.fault = func(string) any {
			if n.Add(1)%3 == 0 {
				return reset
			}
			return nil
		}
		var wg sync.WaitGroup
		for worker := range 4 {
			p := l.pinger(t, dir)
			wg.Go(func() {
				for i := range 10 {
					if err := p.Log(t.Context(), fmt.Appendf(nil, "%d/%d", worker, i)); err != nil && !errors.Is(err, client.ErrQueued) {
						t.Error(err)
					}
				}
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		last, got := map[string]string{}, l.taken()
		for _, ping := range got {
			worker, i, _ := strings.Cut(strings.Fields(ping)[1], "/")
			if i <= last[worker] {
				t.Errorf("worker %s: %s after %s", worker, i, last[worker])
			}
			last[worker] = i
		}
		if len(got) != 40 || len(files(t, dir, ".ping")) > 0 {
			t.Errorf("%d pings arrived: %q", len(got), got)
		}
	})
}

// What a process has kept survives kill -9, and a file that it was writing does no harm.
func TestQueueSurvivesKill(t *testing.T) {
	const variable = "ROLLCALL_TEST_QUEUE"
	if dir := os.Getenv(variable); dir != "" { // the process that is killed
		p := (&line{down: http.ErrHandlerTimeout}).pinger(t, dir)
		for i := 0; ; i++ {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := p.Log(ctx, fmt.Append(nil, i)); errors.Is(err, client.ErrQueued) {
				fmt.Println("kept", i)
			}
		}
	}
	dir := t.TempDir()
	for range 3 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestQueueSurvivesKill$")
		cmd.Env = append(os.Environ(), variable+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kept := -1
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if _, err := fmt.Sscanf(lines.Text(), "kept %d", &kept); err == nil && kept == 20 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait()
		if kept < 20 {
			t.Fatalf("the process ended after ping %d", kept)
		}
		l := &line{}
		if err := l.pinger(t, dir).Flush(t.Context()); err != nil {
			t.Error(err)
		}
		got := l.taken()
		for i, ping := range got {
			if ping != fmt.Sprintf("log %d", i) {
				t.Errorf("ping %d: %s", i, ping)
			}
		}
		if len(got) != kept+1 && len(got) != kept+2 { // killed between keeping one and saying so
			t.Errorf("%d pings arrived, %d were kept", len(got), kept+1)
		}
	}
}

func TestQueueWithoutADirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := client.NewPinger("https://h/secret", &client.PingerConfig{Queue: file}); p != nil || err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	// If the directory is gone later, pings are sent all the same.
	dir := t.TempDir()
	l := &line{}
	p := l.pinger(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := p.Success(t.Context(), nil); err == nil || errors.Is(err, client.ErrQueued) || len(l.taken()) != 1 {
		t.Error(err)
	}
	l.set(500)
	if err := p.Success(t.Context(), nil); err == nil || errors.Is(err, client.ErrQueued) {
		t.Error(err)
	}
}

// Whatever is in a file, it is either sent or set aside.
func FuzzQueueFile(f *testing.F) {
	sealed := func(document string) []byte {
		return []byte(fmt.Sprintf("%x\n%s", sha256.Sum256([]byte(document)), document))
	}
	for _, seed := range []string{"", "x", "\n", `{"at": "2026-03-01T12:00:00Z", "kind": "fail", "body": "eA=="}`, `{"kind": "start", "rid": "x"}`, `{"kind": ""}`, `{"exit_status": 999}`, "null", "[]"} {
		f.Add([]byte(seed))
		f.Add(sealed(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		l := &line{}
		p := l.pinger(t, dir)
		path := strings.TrimSuffix(files(t, dir, "lock")[0], "lock") + "0000000000000001-X.ping"
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		err := p.Flush(t.Context())
		sent, aside := len(l.taken()), len(files(t, dir, ".corrupt"))
		if sent+aside != 1 || (err == nil) != (sent == 1) || len(files(t, dir, ".ping")) > 0 {
			t.Errorf("%d sent, %d set aside: %v", sent, aside, err)
		}
	})
}
