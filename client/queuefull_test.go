//go:build unix

package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/client"
)

// alone runs a test that fills the disk in a process of its own, and reports whether this is the one.
func alone(t *testing.T) bool {
	t.Helper()
	const variable = "ROLLCALL_TEST_FULL_DISK"
	if os.Getenv(variable) != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// fillDisk keeps files from growing, as a full disk does, until the test ends or room is called.
func fillDisk(t *testing.T) (room func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	full := before
	full.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		t.Fatal(err)
	}
	room = func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(room)
	return room
}

// A full disk keeps no ping from a server that answers, nor does it change the order.
func TestFullDiskWhileTheServerAnswers(t *testing.T) {
	if !alone(t) {
		return
	}
	synctest.Test(t, func(t *testing.T) {
		dir, l := t.TempDir(), &line{down: refused}
		_ = l.pinger(t, dir).Success(t.Context(), nil)
		time.Sleep(time.Hour) // the background gives up
		fillDisk(t)
		l.set(nil)
		_ = l.noted()
		p := l.pinger(t, dir) // another process
		began := time.Now()
		if err := p.Failure(t.Context(), []byte("disk full")); !errors.Is(err, client.ErrPending) || errors.Is(err, client.ErrQueued) || time.Since(began) > 0 {
			t.Errorf("took %v: %v", time.Since(began), err)
		}
		if err := errors.Join(p.Close(t.Context()), l.noted()); err != nil {
			t.Error(err)
		}
		equal(t, "arrived", l.taken(), []string{"secret at 2000-01-01T00:00:00.000000Z", "fail disk full"})
		if rest := files(t, dir, ""); len(rest) != 1 { // the lock
			t.Errorf("files %q", rest)
		}
	})
}

// What neither the server nor the disk takes waits in memory for hours, in its order, and moves to the disk when that has room.
func TestFullDiskWhileTheServerIsAway(t *testing.T) {
	if !alone(t) {
		return
	}
	for _, room := range []bool{false, true} {
		t.Run(fmt.Sprint("room ", room), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, l := t.TempDir(), &line{down: refused}
				free := fillDisk(t)
				p := l.pinger(t, dir)
				run, err := p.Start(t.Context())
				if !errors.Is(err, client.ErrPending) {
					t.Error(err)
				}
				body := []byte("no tape")
				if err := run.Failure(t.Context(), body); !errors.Is(err, client.ErrPending) {
					t.Error(err)
				}
				copy(body, "changed")
				time.Sleep(3 * time.Hour)
				if room {
					free()
					time.Sleep(time.Minute)
					if kept := files(t, dir, ".ping"); len(kept) != 2 {
						t.Errorf("files %q", kept)
					}
					time.Sleep(time.Hour)
					p = l.pinger(t, dir) // another process
				}
				l.set(nil)
				if !room {
					time.Sleep(time.Minute)
				}
				_ = l.noted()
				if err := errors.Join(p.Flush(t.Context()), p.Close(t.Context()), l.noted()); err != nil {
					t.Error(err)
				}
				equal(t, "arrived", l.taken(), []string{"start at 2000-01-01T00:00:00.000000Z", "fail no tape at 2000-01-01T00:00:00.000000Z"})
			})
		})
	}
}

// Close says how many pings are lost because neither the server nor the disk has taken them.
func TestCloseOnAFullDisk(t *testing.T) {
	if !alone(t) {
		return
	}
	for _, limit := range []time.Duration{time.Second, time.Hour} {
		t.Run(limit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &line{down: refused}
				dir := t.TempDir()
				fillDisk(t)
				p := l.pinger(t, dir)
				for range 2 {
					if err := p.Failure(t.Context(), nil); !errors.Is(err, client.ErrPending) {
						t.Error(err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				if err := p.Close(ctx); err == nil || errors.Is(err, client.ErrQueued) || !strings.HasSuffix(err.Error(), "could not keep and that were not sent: 2") {
					t.Error(err)
				}
				if err := p.Failure(t.Context(), nil); err == nil || errors.Is(err, client.ErrPending) || errors.Is(err, client.ErrQueued) {
					t.Error(err)
				}
			})
		})
	}
}

// A queue in memory is bounded as one on the disk is.
func TestFullDiskIsBounded(t *testing.T) {
	if !alone(t) {
		return
	}
	synctest.Test(t, func(t *testing.T) {
		l, dir := &line{down: refused}, t.TempDir()
		fillDisk(t)
		p := l.pinger(t, dir)
		for i := range 1001 {
			if err := p.Log(t.Context(), fmt.Append(nil, i)); strings.Contains(err.Error(), "was dropped, of 2000-01-01T00:00:00Z") != (i == 1000) {
				t.Fatal(i, err)
			}
		}
		l.set(nil)
		time.Sleep(time.Minute)
		if got := l.taken(); len(got) != 1000 || got[0] != "log 1" || got[999] != "log 1000" {
			t.Errorf("%d pings arrived", len(got))
		}
	})
}

// A refused ping whose file cannot be renamed does not hold up the others.
func TestFileThatCannotBeSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, l := t.TempDir(), &line{down: refused}
		p := l.pinger(t, dir)
		for _, body := range []string{"bad", "good"} {
			_ = p.Failure(t.Context(), []byte(body))
		}
		time.Sleep(time.Hour)
		_ = l.noted()
		if err := os.Mkdir(strings.TrimSuffix(files(t, dir, ".ping")[0], ".ping")+".refused", 0o700); err != nil {
			t.Fatal(err)
		}
		l.set(nil)
		l.fault = func(ping string) any {
			if strings.HasSuffix(ping, "bad") {
				return respond(nil, 404, "text/html", "not found")
			}
			return nil
		}
		if err := p.Flush(t.Context()); err == nil || strings.Count(err.Error(), "client: queue: rename ") != 1 {
			t.Error(err)
		}
		if got := l.taken(); len(got) != 1 || !strings.HasPrefix(got[0], "fail good at ") {
			t.Errorf("arrived %q", got)
		}
	})
}
