package background

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestPaced has a background task pause between its steps, in proportion to them, up to its budget.
func TestPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		wait := func(pause func(), step time.Duration) time.Duration {
			time.Sleep(step)
			begin := time.Now()
			pause()
			return time.Since(begin)
		}
		const ms = time.Millisecond
		pause := Paced(ctx, 50*ms)
		for _, test := range []struct{ step, want time.Duration }{
			{2 * ms, 8 * ms}, {0, 0}, {5 * ms, 20 * ms}, {100 * ms, 22 * ms}, {ms, 0}, {ms, 0},
		} {
			if got := wait(pause, test.step); got != test.want {
				t.Errorf("after a step of %v it pauses for %v, want %v", test.step, got, test.want)
			}
		}
		pause = Paced(ctx, time.Hour)
		time.AfterFunc(3*ms, cancel)
		if got := wait(pause, 2*ms); got != ms {
			t.Errorf("it pauses for %v although ctx ends after %v", got, ms)
		}
	})
}

// TestInsist goes on after errors and panics, which it logs, and rests longer after each, up to a minute.
func TestInsist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var log bytes.Buffer
		var pauses []time.Duration
		last := time.Now()
		Insist(ctx, slog.New(slog.NewTextHandler(&log, nil)), 10*time.Second, "cannot work", func(context.Context) (int, error) {
			pauses = append(pauses, time.Since(last))
			last = time.Now()
			switch n := len(pauses); {
			case n == 12:
				cancel()
				return 0, ctx.Err()
			case n == 2:
				panic("broken")
			case n > 10:
				return 1, nil
			case n > 2:
				return 0, errors.New("away")
			}
			return 1, nil
		})
		for i, most := range []time.Duration{10, 10, 1, 2, 4, 8, 16, 32, 60, 60, 60, 10} {
			most *= time.Second
			least := most / 2
			if i < 2 || i == 11 {
				least = most
			}
			if got := pauses[i]; got < least || got > most {
				t.Errorf("before round %d it rests %v, want %v to %v", i+1, got, least, most)
			}
		}
		if text := log.String(); strings.Count(text, "cannot work") != 9 || strings.Count(text, "panic=broken") != 1 || strings.Contains(text, "canceled") {
			t.Errorf("the log is %s", text)
		}
	})
}

// TestEvery runs a task at each interval, whether it fails or not, until the context ends.
func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		rounds := 0
		Every(ctx, slog.New(slog.DiscardHandler), time.Minute, "cannot work", func(context.Context) (int, error) { rounds++; return 0, errors.New("away") })
		if rounds < 9 || rounds > 10 {
			t.Errorf("%d rounds in ten minutes", rounds)
		}
	})
}

// TestEndOf gives work that must end a time for what is due and a time to save it, which together are the timeout.
func TestEndOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct{ timeout, due, save time.Duration }{
			{10 * time.Second, 9 * time.Second, 10 * time.Second}, {time.Second, 800 * time.Millisecond, time.Second},
		} {
			ctx, stop := context.WithCancel(t.Context())
			end, cut, release := EndOf(ctx, test.timeout)
			time.Sleep(time.Hour)
			if end.Due.Err() != nil {
				t.Error("it ends before its context does")
			}
			stop()
			begin := time.Now()
			<-end.Due.Done()
			due := time.Since(begin)
			<-end.Save.Done()
			if save := time.Since(begin); due != test.due || save != test.save {
				t.Errorf("%v: due ends after %v and save after %v, want %v and %v", test.timeout, due, save, test.due, test.save)
			}
			cut()
			release()
		}
		end, cut, release := EndOf(t.Context(), time.Minute)
		cut()
		synctest.Wait()
		if end.Due.Err() == nil || end.Save.Err() != nil {
			t.Errorf("cut: due %v, save %v", end.Due.Err(), end.Save.Err())
		}
		release()
		if end.Save.Err() == nil {
			t.Error("release does not end saving")
		}
	})
}
