package feed

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// bus carries messages between the feeds of a test, unless it is away.
type bus struct {
	mu        sync.Mutex
	away      error
	sent      []string
	listeners map[*func(string)]bool
}

func (b *bus) Announce(_ context.Context, message string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away != nil || message == "" {
		return b.away
	}
	b.sent = append(b.sent, message)
	for heard := range b.listeners {
		(*heard)(message)
	}
	return nil
}

// fail makes announcements fail from now on, unless the error is nil, and returns those that were sent.
func (b *bus) fail(err error) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = err
	return b.sent
}

func (b *bus) Listen(ctx context.Context, heard func(string)) error {
	b.mu.Lock()
	b.listeners[&heard] = true
	b.mu.Unlock()
	<-ctx.Done()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.listeners, &heard)
	return ctx.Err()
}

func newFeed(b *bus) *Feed {
	return New(b, func() bool { return true }, slog.New(slog.DiscardHandler))
}

// TestExchange: subscribers get what their monitor and others have committed, each once, and nothing of other projects.
func TestExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bus{listeners: map[*func(string)]bool{}}
		one, two := newFeed(b), newFeed(b)
		project, other, check := uuid.New(), uuid.New(), uuid.New()
		ctx, cancel := context.WithCancel(t.Context())
		here, all, of := one.Subscribe(ctx, &project), two.Subscribe(ctx, nil), two.Subscribe(ctx, &other)
		synctest.Wait()
		one.Publish(Note{Project: project, Check: check, Kinds: checks.ChangedLog}, Note{Project: project, Kinds: checks.ChangedProject})
		want := checks.Change{Projects: map[uuid.UUID]checks.ProjectChange{
			project: {Kinds: checks.ChangedLog | checks.ChangedProject, Checks: map[uuid.UUID]checks.ChangeKind{check: checks.ChangedLog}},
		}}
		for name, changes := range map[string]<-chan checks.Change{"its own monitor": here, "another": all} {
			if diff := cmp.Diff(want, <-changes); diff != "" {
				t.Errorf("by %s (-want +got):\n%s", name, diff)
			}
		}
		time.Sleep(time.Minute)
		select {
		case c := <-here:
			t.Errorf("its own change comes back: %+v", c)
		case c := <-of:
			t.Errorf("a change of another project: %+v", c)
		default:
		}
		one.PublishAll()
		if c := <-of; !c.All {
			t.Errorf("anything may have changed: %+v", c)
		}
		cancel()
		for range here { // closed
		}
		synctest.Wait()
		if b.mu.Lock(); len(b.listeners) != 0 {
			t.Error("a feed without subscribers listens")
		}
		b.mu.Unlock()
	})
}

// TestAnnounceAgain: what cannot be announced goes with the next change, or after a while.
func TestAnnounceAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bus{listeners: map[*func(string)]bool{}}
		f := newFeed(b)
		b.fail(errors.New("connection refused"))
		first, second := uuid.New(), uuid.New()
		f.Publish(Note{Project: first, Kinds: checks.ChangedLog})
		time.Sleep(announcePause)
		f.Publish(Note{Project: second, Kinds: checks.ChangedLog})
		f.Announce(t.Context())
		b.fail(nil)
		time.Sleep(time.Minute)
		sent := b.fail(store.ErrClosed)
		if len(sent) != 1 {
			t.Fatalf("%d announcements, want one of both", len(sent))
		}
		if _, c := decode(sent[0]); len(c.Projects) != 2 {
			t.Errorf("announced %+v", c)
		}
		f.Publish(Note{Project: first, Kinds: checks.ChangedLog})
		time.Sleep(time.Minute)
		if f.watched() {
			t.Error("a feed whose store is closed goes on")
		}
	})
}

// TestCode: a message says what has changed, less precisely if it would be too long, and no text is mistaken for another.
func TestCode(t *testing.T) {
	from := origin{1, 2, 3}
	many := func(projects, each int) checks.Change {
		c := checks.Change{Projects: map[uuid.UUID]checks.ProjectChange{}}
		for range projects {
			p := checks.ProjectChange{Kinds: checks.ChangedChecks}
			for range each {
				if p.Checks == nil {
					p.Checks = map[uuid.UUID]checks.ChangeKind{}
				}
				p.Checks[uuid.New()] = checks.ChangedLog
			}
			c.Projects[uuid.New()] = p
		}
		return c
	}
	for name, test := range map[string]struct {
		change checks.Change
		coarse bool // names projects alone
		all    bool
	}{
		"anything": {checks.Change{All: true}, false, true}, "a project": {change: many(1, 0)}, "checks": {change: many(3, 40)},
		"too many checks": {many(2, 300), true, false}, "too many projects": {many(400, 1), false, true},
	} {
		text := encode(from, test.change)
		got, c := decode(text)
		if len(text) > store.MaxMessage || got != from || c.All != test.all {
			t.Errorf("%s: %d bytes from %v, all %t", name, len(text), got, c.All)
		}
		if !test.all && !test.coarse {
			if diff := cmp.Diff(test.change, c); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		for id, p := range test.change.Projects {
			if test.coarse && (!c.Projects[id].AllChecks || c.Projects[id].Kinds != p.Kinds) {
				t.Errorf("%s: %+v", name, c.Projects[id])
			}
		}
		for _, cut := range []int{1, 10, len(text) / 2, len(text) - 2} {
			if _, c := decode(text[:cut]); !c.All && !test.coarse && len(c.Projects) == len(test.change.Projects) {
				t.Errorf("%s, cut at %d: %+v", name, cut, c)
			}
		}
	}
	for _, hostile := range []string{"", "x", strings.Repeat("A", 4000), "{}"} {
		if _, c := decode(hostile); !c.All {
			t.Errorf("%q: %+v", hostile, c)
		}
	}
}
