package monitor_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestAcknowledge: of two people at once, each on a server of their own, the first has the outage. Both servers, the audit log and
// the subscribers of changes know, and the end of the outage ends it.
func TestAcknowledge(t *testing.T) {
	eachOutbox(t, audited, func(t *testing.T, o outbox) {
		other, err := monitor.New(o.store, &o.config)
		must(t, err)
		anna := audit.WithActor(t.Context(), audit.Actor{Kind: audit.Person, Name: "anna@example.org"})
		c := o.create(t, checks.Spec{Slug: new("nightly"), RepeatEvery: new(time.Hour)})
		here, there := o.Monitor.Project(o.project.ID), other.Project(o.project.ID)
		if _, err := here.Acknowledge(anna, c.ID, checks.AckSpec{}); !errors.Is(err, checks.ErrNotDown) {
			t.Errorf("of a new check: error %v", err)
		}
		o.ping(t, c.ID, pings.Failure)
		_, err = there.Acknowledge(anna, c.ID, checks.AckSpec{For: 4 * time.Hour, Note: "disk full"})
		must(t, err)
		_, err = here.Acknowledge(t.Context(), c.ID, checks.AckSpec{By: "Bert"})
		if !errors.Is(err, checks.ErrAcknowledged) || !errors.As(err, new(*monitor.Error)) {
			t.Errorf("the second: error %v", err)
		}
		got, err := here.Check(t.Context(), c.ID)
		must(t, err)
		if got.Ack.By != "anna@example.org" || !got.Ack.Until.Equal(o.Now().Add(4*time.Hour)) || got.Ack != got.Check.Ack {
			t.Errorf("acknowledgement %+v", got.Ack)
		}
		_, err = here.Acknowledge(t.Context(), c.ID, checks.AckSpec{By: "Bert", TakeOver: true})
		must(t, err)
		o.ping(t, c.ID, pings.Failure) // a server's cache of checks knows
		if c := o.get(t, c); c.Ack.By != "Bert" {
			t.Errorf("after a failure: %+v", c.Ack)
		}
		for range 2 {
			_, err = there.Unacknowledge(anna, c.ID)
			must(t, err)
		}
		_, err = there.Acknowledge(anna, c.ID, checks.AckSpec{})
		must(t, err)
		o.ping(t, c.ID, pings.Success)
		if c := o.get(t, c); !c.Ack.At.IsZero() {
			t.Errorf("after a success: %+v", c.Ack)
		}
		until := noon.Add(4 * time.Hour).Format("2006-01-02 15:04 MST")
		want := []string{
			`person anna@example.org : check.acknowledge "nightly" by ""→"anna@example.org" until ""→"` + until + `" note ""→"disk full"`,
			`program : check.acknowledge "nightly" by "anna@example.org"→"Bert" until "` + until + `"→"" note "disk full"→""`,
			`person anna@example.org : check.unacknowledge "nightly" by "Bert"→""`,
			`person anna@example.org : check.acknowledge "nightly" by ""→"anna@example.org"`,
		}
		log := entries(t, o.Monitor, o.project.ID, audit.Query{Check: c.ID})
		if diff := cmp.Diff(want, log[1:]); diff != "" {
			t.Error(diff)
		}
	})
}

// TestAcknowledgeMany: one call acknowledges what is down and matches, all filters together. What somebody else has stays theirs,
// and what the same person has keeps its note. The audit log has an entry for each check that changed.
func TestAcknowledgeMany(t *testing.T) {
	eachOutbox(t, audited, func(t *testing.T, o outbox) {
		p := o.Monitor.Project(o.project.ID)
		person := func(name string) context.Context {
			return audit.WithActor(t.Context(), audit.Actor{Kind: audit.Person, Name: name})
		}
		anna, bert := person("anna"), person("bert")
		add := func(name, slug string, tags ...string) checks.Check {
			c := o.create(t, checks.Spec{Name: &name, Slug: &slug, Tags: tags})
			o.ping(t, c.ID, pings.Failure)
			return c
		}
		first, second, third := add("first", "a", "db", "eu"), add("second", "a", "db"), add("third", "b", "db-2", "eu")
		up := add("up", "a", "db")
		o.ping(t, up.ID, pings.Success)
		late := o.create(t, checks.Spec{Name: new("late"), Tags: []string{"late"}, Timeout: new(time.Hour), Grace: new(time.Minute)})
		o.ping(t, late.ID, pings.Success)
		names := func(list []checks.Snapshot) (names []string) {
			for _, c := range list {
				names = append(names, c.Name+" by "+c.Ack.By)
			}
			return names
		}
		many := func(ctx context.Context, q checks.AckQuery, spec checks.AckSpec, acknowledged, taken string) {
			t.Helper()
			report, err := p.AcknowledgeMany(ctx, q, spec)
			must(t, err)
			if got, held := strings.Join(names(report.Acknowledged), ", "), strings.Join(names(report.Taken), ", "); got != acknowledged || held != taken {
				t.Errorf("%+v: acknowledged %q, want %q, and taken %q, want %q", q, got, acknowledged, held, taken)
			}
		}
		none := func(q checks.AckQuery, want string) {
			t.Helper()
			if _, err := p.AcknowledgeMany(anna, q, checks.AckSpec{}); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%+v: error %v, want %s", q, err, want)
			}
		}
		none(checks.AckQuery{}, "all must be true if neither slug, tags nor checks is set")
		none(checks.AckQuery{Tags: []string{}}, "tags is empty")
		none(checks.AckQuery{Tags: []string{"db", ""}}, "tags is empty")
		none(checks.AckQuery{IDs: []uuid.UUID{}}, "checks is empty")
		none(checks.AckQuery{IDs: make([]uuid.UUID, checks.MaxAckChecks+1)}, "checks has 10001 items, the maximum is 10000")
		none(checks.AckQuery{Slug: "a", All: true}, "slug and all exclude each other")
		none(checks.AckQuery{IDs: []uuid.UUID{first.ID}, All: true}, "checks and all exclude each other")

		many(anna, checks.AckQuery{Slug: "none"}, checks.AckSpec{}, "", "")
		many(anna, checks.AckQuery{IDs: []uuid.UUID{uuid.New(), up.ID}}, checks.AckSpec{}, "", "")
		many(anna, checks.AckQuery{Tags: []string{"db", "eu"}}, checks.AckSpec{Note: "disk full", For: time.Hour}, "first by anna", "")
		many(bert, checks.AckQuery{Slug: "a"}, checks.AckSpec{}, "second by bert", "first by anna")
		many(anna, checks.AckQuery{IDs: []uuid.UUID{first.ID, second.ID}, Tags: []string{"eu"}}, checks.AckSpec{}, "first by anna", "")
		if a := o.get(t, first).Ack; a.Note != "disk full" || a.Until.IsZero() {
			t.Errorf("acknowledged again: %+v", a)
		}
		o.clock.Advance(time.Hour + 2*time.Minute) // past the end of an acknowledgement, and past a deadline that no sweep has judged
		many(bert, checks.AckQuery{All: true}, checks.AckSpec{TakeOver: true, Note: "mine"}, "first by bert, second by bert, third by bert, late by bert", "")
		log := entries(t, o.Monitor, o.project.ID, audit.Query{Check: third.ID})
		if want := `person bert : check.acknowledge "third" by ""→"bert" note ""→"mine"`; len(log) != 2 || log[1] != want {
			t.Errorf("the audit log has %q, want %q", log, want)
		}
		if n := len(entries(t, o.Monitor, o.project.ID, audit.Query{Check: first.ID})); n != 3 { // created, and acknowledged twice
			t.Errorf("%d entries about a check that was acknowledged once more by the same person", n)
		}
		joined := add("joined", "a", "db")
		if a := o.get(t, joined).Ack; !a.At.IsZero() {
			t.Errorf("a check that joined is acknowledged: %+v", a)
		}
	})
}

// TestAcknowledgeManyAtOnce: of two people who press at once, each gets a list of what they have and of what the other one has.
func TestAcknowledgeManyAtOnce(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		other, err := monitor.New(o.store, &o.config)
		must(t, err)
		const n = 60 // more than the first transaction has
		for range n {
			o.ping(t, o.create(t, checks.Spec{}).ID, pings.Failure)
		}
		reports := make(map[string]checks.AckReport)
		var mu sync.Mutex
		var both sync.WaitGroup
		for by, m := range map[string]*monitor.Monitor{"anna": o.Monitor, "bert": other} {
			both.Go(func() {
				report, err := m.Project(o.project.ID).AcknowledgeMany(t.Context(), checks.AckQuery{All: true}, checks.AckSpec{By: by})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				reports[by] = report
			})
		}
		both.Wait()
		if a, b := reports["anna"], reports["bert"]; len(a.Acknowledged)+len(b.Acknowledged) != n || len(a.Taken) != len(b.Acknowledged) || len(b.Taken) != len(a.Acknowledged) {
			t.Errorf("anna has %d and is refused %d, bert has %d and is refused %d", len(a.Acknowledged), len(a.Taken), len(b.Acknowledged), len(b.Taken))
		}
		for by, report := range reports {
			for _, c := range report.Acknowledged {
				if c.Ack.By != by {
					t.Errorf("%s is said to have what %q has", by, c.Ack.By)
				}
			}
			for _, c := range report.Taken {
				if c.Ack.By == by || c.Ack.By == "" {
					t.Errorf("%q has what %s is refused", c.Ack.By, by)
				}
			}
		}
	})
}

// TestUnacknowledging gives back one acknowledgement, and no other.
func TestUnacknowledging(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := o.Monitor.Project(o.project.ID)
		c := o.create(t, checks.Spec{})
		o.ping(t, c.ID, pings.Failure)
		acked, err := p.Acknowledge(t.Context(), c.ID, checks.AckSpec{By: "Anna"})
		must(t, err)
		ack := acked.Ack
		ack.At = ack.At.In(time.FixedZone("", 3600))
		back := func() error {
			return p.ChangeMany(t.Context(), []monitor.Change{monitor.Unacknowledging(c.ID, ack)}, nil, nil)
		}
		_, err = p.Acknowledge(t.Context(), c.ID, checks.AckSpec{By: "Bert", TakeOver: true})
		must(t, err)
		if err := back(); !errors.Is(err, checks.ErrChanged) || o.get(t, c).Ack.By != "Bert" {
			t.Errorf("of what Bert has: error %v", err)
		}
		ack = o.get(t, c).Ack
		if err := back(); err != nil || o.get(t, c).Ack != (gate.Ack{}) {
			t.Errorf("error %v", err)
		}
		if err := back(); !errors.Is(err, checks.ErrChanged) {
			t.Errorf("once more: error %v", err)
		}
	})
}

// TestAcknowledgedReminders: while somebody has the outage there are no reminders. They go on when the time is over.
func TestAcknowledgedReminders(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.create(t, checks.Spec{Slug: new("nightly"), RepeatEvery: new(time.Hour), Channels: new("*")})
		p := o.Monitor.Project(o.project.ID)
		hours := func(n int, want ...string) {
			t.Helper()
			for range n {
				o.clock.Advance(time.Hour)
				must(t, o.Tick(t.Context()))
			}
			o.deliver(t, want...)
		}
		const down, up = "ops: nightly down", "ops: nightly up"
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t, down)
		_, err := p.Acknowledge(t.Context(), c.ID, checks.AckSpec{By: "Anna", For: 150 * time.Minute})
		must(t, err)
		hours(2)
		hours(2, down, down)
		_, err = p.Acknowledge(t.Context(), c.ID, checks.AckSpec{By: "Anna"})
		must(t, err)
		hours(48)
		_, err = p.Unacknowledge(t.Context(), c.ID)
		must(t, err)
		hours(2, down, down)
		o.ping(t, c.ID, pings.Success)
		o.deliver(t, up)
	})
}
