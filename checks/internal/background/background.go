// Package background runs recurring work that must go on: it logs errors and panics, and tries again.
package background

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Task is one round of work. It returns how much it has done.
type Task func(ctx context.Context) (int, error)

// Every runs a task at each interval until ctx ends.
func Every(ctx context.Context, log *slog.Logger, interval time.Duration, failure string, task Task) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			Attempt(ctx, log, failure, task)
		}
	}
}

// outageWait is the first pause of Insist after a failure. It doubles up to outageWaitMost.
const outageWait, outageWaitMost = time.Second, time.Minute

// Insist runs a task at each interval until ctx ends, and backs off after failures.
func Insist(ctx context.Context, log *slog.Logger, interval time.Duration, failure string, task Task) {
	failures := 0
	for {
		wait := interval
		if failures > 0 {
			wait = Backoff(outageWait, outageWaitMost, failures)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		failures++
		if Attempt(ctx, log, failure, task) {
			failures = 0
		}
	}
}

// Attempt runs a task once and logs its error or panic under the text of the failure.
func Attempt(ctx context.Context, log *slog.Logger, failure string, task Task) (ok bool) {
	err := Call(func() error {
		_, err := task(ctx)
		return err
	})
	if p, panicked := errors.AsType[*panicError](err); panicked {
		log.ErrorContext(ctx, failure, "panic", p.reason)
	} else if err != nil && (ctx.Err() == nil || errors.Is(err, errExited)) {
		log.ErrorContext(ctx, failure, "error", err)
	}
	return err == nil
}

// errExited means that a callback ended its goroutine.
var errExited = errors.New("the callback called runtime.Goexit, as the FailNow and SkipNow of a test do")

// panicError is a panic of a callback.
type panicError struct{ reason any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.reason) }

// Call calls fn, which may be code of an embedding program, and turns a panic and [runtime.Goexit] into an error. Only a
// goroutine of its own keeps Goexit from ending the caller.
func Call(fn func() error) error {
	ended := make(chan error, 1)
	go func() {
		err := errExited
		defer func() {
			if r := recover(); r != nil {
				err = &panicError{r}
			}
			ended <- err
		}()
		err = fn()
	}()
	return <-ended
}

// End says how work ends whose context is done: it finishes what is due until Due ends, and then has until Save ends to
// save what it has done.
type End struct {
	Due, Save context.Context
	// Return is how long to wait, after Due, for code that does not return at once.
	Return time.Duration
}

// saveTime bounds the time from the end of Due to that of Save.
const saveTime = time.Second

// EndOf returns the End of work whose context is ctx, which takes at most timeout. cut ends Due at once, and release frees
// both once the work has ended.
func EndOf(ctx context.Context, timeout time.Duration) (end End, cut, release context.CancelFunc) {
	ctxDue, cut := context.WithCancel(context.WithoutCancel(ctx))
	ctxSave, abandon := context.WithCancel(context.WithoutCancel(ctx))
	save := min(timeout/5, saveTime)
	context.AfterFunc(ctx, func() { time.AfterFunc(timeout-save, cut) })
	context.AfterFunc(ctxDue, func() { time.AfterFunc(save, abandon) })
	return End{ctxDue, ctxSave, save / 2}, cut, func() { cut(); abandon() }
}

// pauseFactor is the ratio of a pause to the step before it.
const pauseFactor = 4

// Paced returns a function that a task calls between its steps. It pauses in proportion to the last step, so that pings
// wait for one step and not for the whole task. The pauses add up to at most budget, so that the task does not fall
// behind, and end with ctx.
func Paced(ctx context.Context, budget time.Duration) (pause func()) {
	begin := time.Now()
	return func() {
		end := time.Now()
		if wait := min(pauseFactor*end.Sub(begin), budget); wait > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
		}
		begin = time.Now()
		budget -= begin.Sub(end)
	}
}

// Backoff returns the pause after a number of failures, at least 1. It doubles with each failure from first up to most.
// Jitter shortens it by up to a half, so that servers do not all retry at once.
func Backoff(first, most time.Duration, failures int) time.Duration {
	wait := first
	for range failures - 1 {
		if wait *= 2; wait >= most {
			wait = most
			break
		}
	}
	return wait/2 + rand.N(wait/2+1)
}

// Round says what monitor.Monitor.Tick does. The zero value is all of it.
type Round struct {
	// AlertsOnly leaves out what only keeps the database small: package monitortest moves its clock from one alert to the
	// next.
	AlertsOnly bool
	// Done, unless nil, is called with what each step has done.
	Done func(step string, n int)
}

type roundKey struct{}

// WithRound returns a context for monitor.Monitor.Tick.
func WithRound(ctx context.Context, r Round) context.Context {
	return context.WithValue(ctx, roundKey{}, r)
}

// RoundOf returns the round of a context.
func RoundOf(ctx context.Context) Round {
	r, _ := ctx.Value(roundKey{}).(Round)
	return r
}
