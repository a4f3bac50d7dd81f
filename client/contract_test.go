package client_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
)

// project is what a project on a server and one in the same process have in common.
type project interface {
	checks.Administrator
	job.Registry
}

var _, _ project = (*client.Client)(nil), (*monitor.Project)(nil)

// meaning returns all that a program can branch on in an error.
func meaning(err error) string {
	var parts []string
	for name, target := range map[string]error{
		"not found": checks.ErrNotFound, "not paused": checks.ErrNotPaused,
		"not down": checks.ErrNotDown, "acknowledged": checks.ErrAcknowledged, "limit": checks.ErrCheckLimit, "ambiguous": checks.ErrAmbiguousSlug,
		"exists": checks.ErrExists, "body unavailable": checks.ErrBodyUnavailable, "body corrupt": checks.ErrBodyCorrupt, "unavailable": checks.ErrUnavailable,
		"unauthorized": client.ErrUnauthorized, "rate limited": client.ErrRateLimited, "not rollcall": client.ErrNotRollcall,
		"canceled": context.Canceled, "deadline": context.DeadlineExceeded, "edit": errEdit,
	} {
		if errors.Is(err, target) {
			parts = append(parts, name)
		}
	}
	if e, ok := errors.AsType[*checks.FieldError](err); ok {
		parts = append(parts, "field: "+e.Error())
	}
	if e, ok := errors.AsType[*channels.SelectError](err); ok {
		parts = append(parts, fmt.Sprintf("select: %s: %q", e.Error(), e.Item))
	}
	if e, ok := errors.AsType[*channels.KindError](err); ok {
		parts = append(parts, fmt.Sprintf("kind: %q of %q", e.Kind, e.Known))
	}
	if e, ok := errors.AsType[*channels.NotConfiguredError](err); ok {
		parts = append(parts, fmt.Sprintf("not configured: %q: %s", e.Kind, e.Missing))
	}
	if e, ok := errors.AsType[*channels.SettingError](err); ok {
		parts = append(parts, fmt.Sprintf("setting: %q: %s", e.Setting, e.Error()))
	}
	if len(parts) == 0 && err != nil {
		parts = append(parts, "unknown: "+err.Error())
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

var errEdit = errors.New("the caller changed its mind")

// world is a project with something of everything, and another project beside it.
type world struct {
	check, foreign     checks.Snapshot
	channel, elsewhere channels.Channel
	page, alien        checks.StatusPage
}

// newWorld fills a project and the other one.
func newWorld(t *testing.T, here, other *monitor.Project) (w world) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	ctx := t.Context()
	ops := channels.Channel{Kind: channels.Email, Name: "ops", Settings: map[string]string{"to": "ops@example.org"}}
	w.channel, err = here.CreateChannel(ctx, ops)
	must(err)
	w.elsewhere, err = other.CreateChannel(ctx, ops)
	must(err)
	w.check, err = here.Create(ctx, checks.Spec{Slug: new("job"), Tags: []string{"a"}, Channels: new("ops")})
	must(err)
	for range 2 {
		_, err = here.Create(ctx, checks.Spec{Slug: new("twice")})
		must(err)
	}
	w.foreign, err = other.Create(ctx, checks.Spec{Slug: new("foreign")})
	must(err)
	w.page, err = here.CreateStatusPage(ctx, checks.StatusPage{Slug: "here", Title: "Here"})
	must(err)
	w.alien, err = other.CreateStatusPage(ctx, checks.StatusPage{Slug: "there", Title: "There"})
	must(err)
	return w
}

// lacking is a kind that the contract's monitor knows and cannot deliver to.
const lacking = channels.SMS

// contractKinds are those of the contract's monitor.
func contractKinds() []channels.Type {
	quiet := channels.NotifierFunc(func(context.Context, channels.Channel, channels.Notification) error { return nil })
	return []channels.Type{
		{Kind: channels.Email, Settings: []channels.Setting{{Name: "to", Required: true}}, Notifier: quiet},
		{Kind: channels.Webhook, Settings: []channels.Setting{{Name: "url_down", Required: true}}, Notifier: quiet},
		{Kind: lacking, Missing: "nobody answers here"},
	}
}

// unknownKind is the meaning of the error for a kind that the monitor does not know.
func unknownKind(kind channels.Kind) string {
	return fmt.Sprintf(`field: kind is unknown: %q, the known kinds are %s; kind: %q of %q`,
		kind, "email, webhook, sms, group", kind, []string{"email", "webhook", "sms", "group"})
}

// eachContract runs a test on both databases with a project of a monitor, and with the same through a client.
func eachContract(t *testing.T, test func(t *testing.T, s *site, sides map[string]project)) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s := serveOn(t, db, server.Config{}, "paid", monitor.Config{Channels: contractKinds()})
		test(t, s, map[string]project{"monitor": s.mon.Project(s.project.ID), "client": s.admin().Project(s.project.ID)})
	})
}

// TestContract runs the same calls on a project of a monitor and through a client: each has the same meaning on both.
func TestContract(t *testing.T) {
	eachContract(t, func(t *testing.T, s *site, sides map[string]project) {
		other, err := s.mon.OpenProject(t.Context(), "other")
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, s.mon.Project(s.project.ID), other)
		expect := func(what, want string, sides map[string]project, try func(p project) error) {
			t.Helper()
			for side, p := range sides {
				if got := meaning(try(p)); got != want {
					t.Errorf("%s of the %s\n got %s\nwant %s", what, side, got, want)
				}
			}
		}
		for call, try := range w.unknown(t.Context(), uuid.New(), uuid.New(), uuid.New()) {
			expect(call+", unknown,", "not found", sides, try)
		}
		for call, try := range w.unknown(t.Context(), w.foreign.ID, w.elsewhere.ID, w.alien.ID) {
			expect(call+", of another project,", "not found", sides, try)
		}
		for call, test := range w.refused(t.Context()) {
			expect(call, test.want, sides, test.try)
		}
		none := map[string]project{"monitor": s.mon.Project(uuid.New()), "client": s.admin().Project(uuid.New())}
		calls := w.everything(t.Context())
		delete(calls, "Probe")
		for call, try := range calls {
			expect(call+", in an unknown project,", "not found", none, try)
		}
	})
}

// TestContractOfIterators ranges over pings and flips: all or some, twice, in part, and until an error.
func TestContractOfIterators(t *testing.T) {
	eachContract(t, func(t *testing.T, s *site, sides map[string]project) {
		c, err := sides["monitor"].Create(t.Context(), checks.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		start := s.mon.Now()
		for i := range 4 { // half a second apart
			if _, err := s.mon.Ping(t.Context(), c.ID, pings.Signal{Kind: []pings.Kind{pings.Success, pings.Failure}[i%2]}); err != nil {
				t.Fatal(err)
			}
			s.clock.Advance(time.Second / 2)
		}
		for side, p := range sides {
			for what, test := range map[string]struct {
				query checks.PingQuery
				want  []int64
			}{
				"all":                    {checks.PingQuery{}, []int64{4, 3, 2, 1}},
				"two":                    {checks.PingQuery{Limit: 2}, []int64{4, 3}},
				"more than any plan":     {checks.PingQuery{Limit: 5000}, []int64{4, 3, 2, 1}},
				"since the third":        {checks.PingQuery{Since: start.Add(time.Second)}, []int64{4, 3}},
				"since half a second":    {checks.PingQuery{Since: start.Add(time.Second / 2)}, []int64{4, 3, 2}},
				"since a moment later":   {checks.PingQuery{Since: start.Add(time.Second/2 + time.Microsecond)}, []int64{4, 3}},
				"one since half of one":  {checks.PingQuery{Since: start.Add(time.Second / 2), Limit: 1}, []int64{4}},
				"since before the epoch": {checks.PingQuery{Since: time.Unix(-1, 0), Limit: 3}, []int64{4, 3, 2}},
				"since the far future":   {checks.PingQuery{Since: start.AddDate(9000, 0, 0)}, nil},
			} {
				seq := p.Pings(t.Context(), c.ID, test.query)
				for _, again := range []string{"", " again"} {
					var got []int64
					for ping, err := range seq {
						if err != nil {
							t.Errorf("%s of the %s: %v", what, side, err)
						}
						got = append(got, ping.N)
					}
					equal(t, what+again+" of the "+side, got, test.want)
				}
			}
			for ping := range p.Pings(t.Context(), c.ID, checks.PingQuery{}) {
				equal(t, "the first of the "+side, ping.N, int64(4))
				break
			}
			for flip := range p.Flips(t.Context(), c.ID, flips.Range{}) {
				equal(t, "the first flip of the "+side, flip.Up, false)
				break
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var errs []string
			for _, err := range p.Flips(ctx, c.ID, flips.Range{}) {
				errs = append(errs, meaning(err))
				cancel()
			}
			equal(t, "an ending context of the "+side, errs, []string{"", "canceled"})
			errs = nil
			for _, err := range p.Pings(t.Context(), uuid.New(), checks.PingQuery{}) {
				errs = append(errs, meaning(err))
			}
			equal(t, "an unknown check of the "+side, errs, []string{"not found"})
		}
	})
}

// TestContractOfEdits makes many changes at once: those that are skipped, and those after one that fails, leave their checks alone.
func TestContractOfEdits(t *testing.T) {
	eachContract(t, func(t *testing.T, s *site, sides map[string]project) {
		for side, p := range sides {
			for _, slug := range []string{"first", "second"} {
				if _, err := p.Create(t.Context(), checks.Spec{Slug: new(side + "-" + slug), Tags: []string{side}}); err != nil {
					t.Fatal(err)
				}
			}
			first, err := p.CheckBySlug(t.Context(), side+"-first")
			if err != nil {
				t.Fatal(err)
			}
			tagged := func(c checks.Snapshot) (checks.Spec, error) {
				return checks.Spec{Tags: append(c.TagList(), "tagged")}, nil
			}
			edits := []checks.CheckEdit{
				{Spec: checks.Spec{Slug: new(side + "-third"), Tags: []string{side}}},
				{Spec: checks.Spec{Slug: new(side + "-second"), Desc: new("upserted")}},
				{ID: uuid.New(), Delete: true},
				{ID: first.ID, With: tagged},
				{ID: first.ID, With: func(checks.Snapshot) (checks.Spec, error) { return checks.Spec{}, errEdit }},
				{ID: first.ID, Delete: true},
			}
			var done []string
			note := func(i int, skipped error) { done = append(done, fmt.Sprint(i, " ", meaning(skipped))) }
			gone := func(err error) bool { return errors.Is(err, checks.ErrNotFound) }
			err = p.EditChecks(t.Context(), edits, gone, note)
			equal(t, "the error of the "+side, meaning(err), "edit")
			equal(t, "done by the "+side, done, []string{"0 ", "1 ", "2 not found", "3 "})
			list, err := p.Checks(t.Context(), checks.Query{Tags: []string{side}})
			var got []string
			for _, c := range list {
				got = append(got, c.Slug+": "+strings.Join(c.Tags, " ")+c.Desc)
			}
			equal(t, "checks of the "+side, []any{got, err}, []any{[]string{
				side + "-first: " + side + " tagged", side + "-second: " + side + "upserted", side + "-third: " + side}, error(nil)})
		}
	})
}

// TestContractOfAcknowledgements: who has an outage reads alike on both.
func TestContractOfAcknowledgements(t *testing.T) {
	eachContract(t, func(t *testing.T, s *site, sides map[string]project) {
		c, err := sides["monitor"].Create(t.Context(), checks.Spec{})
		if err == nil {
			_, err = s.mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Failure})
		}
		if err != nil {
			t.Fatal(err)
		}
		for side, p := range sides {
			acked, err := p.Acknowledge(t.Context(), c.ID, checks.AckSpec{By: side, For: time.Hour, Note: "disk full", TakeOver: true})
			at := s.mon.Now().Truncate(time.Second)
			want := gate.Ack{By: side, Note: "disk full", At: at, Until: at.Add(time.Hour)}
			acked.Ack.At, acked.Ack.Until = acked.Ack.At.Truncate(time.Second), acked.Ack.Until.Truncate(time.Second)
			if diff := cmp.Diff(want, acked.Ack); diff != "" || err != nil {
				t.Errorf("%s: error %v\n%s", side, err, diff)
			}
			for other, p := range sides {
				if _, err := p.Acknowledge(t.Context(), c.ID, checks.AckSpec{By: "Bert"}); meaning(err) != "acknowledged" || !strings.Contains(err.Error(), "by "+side+" since ") {
					t.Errorf("%s, of %s: error %v", other, side, err)
				}
			}
		}
		for side, p := range sides {
			q := checks.AckQuery{IDs: []uuid.UUID{c.ID, uuid.New()}}
			report, err := p.AcknowledgeMany(t.Context(), q, checks.AckSpec{By: "Bert"})
			if err != nil || len(report.Acknowledged) != 0 || len(report.Taken) != 1 || report.Taken[0].ID != c.ID || report.Taken[0].Ack.By == "Bert" {
				t.Errorf("%s: what somebody else has: %+v, error %v", side, report, err)
			}
			report, err = p.AcknowledgeMany(t.Context(), q, checks.AckSpec{By: side, Note: "all", TakeOver: true})
			if err != nil || len(report.Taken) != 0 || len(report.Acknowledged) != 1 || report.Acknowledged[0].Ack.By != side || report.Acknowledged[0].Ack.Note != "all" {
				t.Errorf("%s: taken over: %+v, error %v", side, report, err)
			}
			q = checks.AckQuery{Tags: []string{"none", "of these"}}
			if report, err := p.AcknowledgeMany(t.Context(), q, checks.AckSpec{}); err != nil || len(report.Acknowledged)+len(report.Taken) != 0 {
				t.Errorf("%s: nothing: %+v, error %v", side, report, err)
			}
		}
		for side, p := range sides {
			if c, err := p.Unacknowledge(t.Context(), c.ID); err != nil || c.Ack != (gate.Ack{}) {
				t.Errorf("%s: %+v, error %v", side, c.Ack, err)
			}
		}
	})
}

// TestContractOfEndedContexts calls every method with a context that has ended.
func TestContractOfEndedContexts(t *testing.T) {
	eachContract(t, func(t *testing.T, s *site, sides map[string]project) {
		other, err := s.mon.OpenProject(t.Context(), "other")
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, s.mon.Project(s.project.ID), other)
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		for want, ctx := range map[string]context.Context{"canceled": cancelled, "deadline": late} {
			for call, try := range w.everything(ctx) {
				for side, p := range sides {
					if got := meaning(try(p)); got != want {
						t.Errorf("%s of the %s: %s, want %s", call, side, got, want)
					}
				}
			}
		}
	})
}

// unknown returns every call that names a check, a channel or a page.
func (w world) unknown(ctx context.Context, check, channel, page uuid.UUID) map[string]func(p project) error {
	keep := func(c channels.Channel) (channels.Channel, error) { return c, nil }
	return map[string]func(p project) error{
		"Check":            func(p project) error { return second(p.Check(ctx, check)) },
		"CheckBySlug":      func(p project) error { return second(p.CheckBySlug(ctx, "foreign")) },
		"empty slug":       func(p project) error { return second(p.CheckBySlug(ctx, "")) },
		"CheckByUniqueKey": func(p project) error { return second(p.CheckByUniqueKey(ctx, checks.UniqueKey(check))) },
		"no unique key":    func(p project) error { return second(p.CheckByUniqueKey(ctx, "x/../y")) },
		"Update":           func(p project) error { return second(p.Update(ctx, check, checks.Spec{})) },
		"EditChecks":       func(p project) error { return p.EditChecks(ctx, []checks.CheckEdit{{ID: check}}, nil, nil) },
		"EditChecks, with a function": func(p project) error {
			with := func(checks.Snapshot) (checks.Spec, error) { return checks.Spec{}, nil }
			return p.EditChecks(ctx, []checks.CheckEdit{{ID: check, With: with}}, nil, nil)
		},
		"EditChecks, deleting": func(p project) error {
			return p.EditChecks(ctx, []checks.CheckEdit{{ID: check, Delete: true}}, nil, nil)
		},
		"Pause":         func(p project) error { return second(p.Pause(ctx, check)) },
		"Resume":        func(p project) error { return second(p.Resume(ctx, check)) },
		"Acknowledge":   func(p project) error { return second(p.Acknowledge(ctx, check, checks.AckSpec{})) },
		"Unacknowledge": func(p project) error { return second(p.Unacknowledge(ctx, check)) },
		"Delete":        func(p project) error { return second(p.Delete(ctx, check)) },
		"Pings":         func(p project) error { return second(checks.Collect(p.Pings(ctx, check, checks.PingQuery{}))) },
		"PingBody":      func(p project) error { return second(p.PingBody(ctx, check, 1)) },
		"Flips":         func(p project) error { return second(checks.Collect(p.Flips(ctx, check, flips.Range{}))) },
		"Stats":         func(p project) error { return second(p.Stats(ctx, check, noon, noon)) },
		"UpdateChannel": func(p project) error { return second(p.UpdateChannel(ctx, channel, keep)) },
		"DeleteChannel": func(p project) error { return p.DeleteChannel(ctx, channel) },
		"UpdateStatusPage": func(p project) error {
			return second(p.UpdateStatusPage(ctx, checks.StatusPage{ID: page, Slug: "x", Title: "X"}))
		},
		"DeleteStatusPage": func(p project) error { return p.DeleteStatusPage(ctx, page) },
		"no window":        func(p project) error { return second(p.Window(ctx, check)) },
		"end no window":    func(p project) error { return second(p.EndWindow(ctx, check)) },
		"no such ping":     func(p project) error { return second(p.PingBody(ctx, w.check.ID, 9)) },
		"ping 0":           func(p project) error { return second(p.PingBody(ctx, w.check.ID, 0)) },
		"ping -1":          func(p project) error { return second(p.PingBody(ctx, w.check.ID, -1)) },
	}
}

// everything returns every call, about things that exist.
func (w world) everything(ctx context.Context) map[string]func(p project) error {
	calls := w.unknown(ctx, w.check.ID, w.channel.ID, w.page.ID)
	maps.DeleteFunc(calls, func(name string, _ func(project) error) bool { return strings.Contains(name, " ") })
	maps.Copy(calls, map[string]func(p project) error{
		"Checks":      func(p project) error { return second(p.Checks(ctx, checks.Query{})) },
		"CheckBySlug": func(p project) error { return second(p.CheckBySlug(ctx, "job")) },
		"Create":      func(p project) error { return second(p.Create(ctx, checks.Spec{})) },
		"Upsert":      func(p project) error { return third(p.Upsert(ctx, checks.Spec{Slug: new("job")}, checks.UniqueSlug)) },
		"AcknowledgeMany": func(p project) error {
			return second(p.AcknowledgeMany(ctx, checks.AckQuery{All: true}, checks.AckSpec{}))
		},
		"Channels":             func(p project) error { return second(p.Channels(ctx)) },
		"ChannelsWithSettings": func(p project) error { return second(p.ChannelsWithSettings(ctx)) },
		"EditChecks, new": func(p project) error {
			return p.EditChecks(ctx, []checks.CheckEdit{{Spec: checks.Spec{Slug: new("edited")}}}, nil, nil)
		},
		"CreateChannel": func(p project) error { return second(p.CreateChannel(ctx, email("more"))) },
		"UpsertChannel": func(p project) error { return third(p.UpsertChannel(ctx, email("more"))) },
		"StatusPages":   func(p project) error { return second(p.StatusPages(ctx)) },
		"CreateStatusPage": func(p project) error {
			return second(p.CreateStatusPage(ctx, checks.StatusPage{Slug: "x", Title: "X"}))
		},
		"Escalation":    func(p project) error { return second(p.Escalation(ctx)) },
		"SetEscalation": func(p project) error { return p.SetEscalation(ctx, nil) },
		"Register":      func(p project) error { return second(p.Register(ctx, checks.Spec{Slug: new("job")})) },
		"PauseExcept":   func(p project) error { return p.PauseExcept(ctx, "a", []string{"x"}) },
		"Probe":         func(p project) error { return p.Probe(ctx) },
		"Windows":       func(p project) error { return second(p.Windows(ctx, checks.WindowQuery{})) },
		"AddWindow": func(p project) error {
			return second(p.AddWindow(ctx, gate.Window{Kind: gate.Snooze, Duration: time.Minute}))
		},
	})
	return calls
}

// email returns a channel.
func email(name string) channels.Channel {
	return channels.Channel{Kind: channels.Email, Name: name, Settings: map[string]string{"to": "ops@example.org"}}
}

// refusal is a call that is refused, and what its error means.
type refusal struct {
	want string
	try  func(p project) error
}

// refused returns calls whose arguments are wrong, or that contradict what exists.
func (w world) refused(ctx context.Context) map[string]refusal {
	all := make(map[string]refusal)
	for _, group := range []map[string]refusal{w.refusedChecks(ctx), w.refusedRanges(ctx), w.refusedChannels(ctx), w.refusedPages(ctx), w.refusedWindows(ctx)} {
		maps.Copy(all, group)
	}
	return all
}

func (w world) refusedChecks(ctx context.Context) map[string]refusal {
	create := func(want string, spec checks.Spec) refusal {
		return refusal{want, func(p project) error { return second(p.Create(ctx, spec)) }}
	}
	taken := func(id uuid.UUID) string { return "exists; field: uuid is taken: " + id.String() }
	return map[string]refusal{
		"ambiguous slug":   {"ambiguous", func(p project) error { return second(p.CheckBySlug(ctx, "twice")) }},
		"not paused":       {"not paused", func(p project) error { return second(p.Resume(ctx, w.check.ID)) }},
		"timeout":          create("field: timeout is too small: 1, the minimum is 60", checks.Spec{Timeout: new(time.Second)}),
		"schedule":         create("field: schedule is not a valid cron or OnCalendar expression: day of month: no month of the expression has a day 30", checks.Spec{Schedule: new("0 0 30 2 *")}),
		"channel of none":  create(`select: channels: no integration has the id or name "pager": "pager"`, checks.Spec{Channels: new("pager")}),
		"existing id":      create(taken(w.check.ID), checks.Spec{ID: w.check.ID}),
		"unknown field":    {`field: unique has an unexpected item: "id", the allowed ones are name, slug, tags, timeout and grace`, func(p project) error { return third(p.Upsert(ctx, checks.Spec{}, "id")) }},
		"update":           {"field: grace is too small: 1, the minimum is 60", func(p project) error { return second(p.Update(ctx, w.check.ID, checks.Spec{Grace: new(time.Second)})) }},
		"job without slug": {"field: slug is empty", func(p project) error { return second(p.Register(ctx, checks.Spec{})) }},
		"acknowledge":      {"not down", func(p project) error { return second(p.Acknowledge(ctx, w.check.ID, checks.AckSpec{By: "Anna"})) }},
		"acknowledge for a second": {"field: for is too small: 1, the minimum is 60", func(p project) error {
			return second(p.Acknowledge(ctx, w.check.ID, checks.AckSpec{For: time.Second}))
		}},
		"acknowledge nothing": {"field: all must be true if neither slug, tags nor checks is set", func(p project) error {
			return second(p.AcknowledgeMany(ctx, checks.AckQuery{}, checks.AckSpec{By: "Anna"}))
		}},
		"acknowledge an empty list": {"field: checks is empty", func(p project) error {
			return second(p.AcknowledgeMany(ctx, checks.AckQuery{IDs: []uuid.UUID{}}, checks.AckSpec{By: "Anna"}))
		}},
		"acknowledge many for a second": {"field: for is too small: 1, the minimum is 60", func(p project) error {
			return second(p.AcknowledgeMany(ctx, checks.AckQuery{All: true}, checks.AckSpec{For: time.Second}))
		}},
		"pause without tag": {"field: tag is empty", func(p project) error { return p.PauseExcept(ctx, "", []string{"a"}) }},
		"pause all":         {"field: slugs is empty: that would pause every check with the tag", func(p project) error { return p.PauseExcept(ctx, "a", nil) }},
	}
}

func (w world) refusedWindows(ctx context.Context) map[string]refusal {
	add := func(want string, window gate.Window) refusal {
		return refusal{want, func(p project) error { return second(p.AddWindow(ctx, window)) }}
	}
	steps := func(want string, after ...time.Duration) refusal {
		var policy []gate.Step
		for _, d := range after {
			policy = append(policy, gate.Step{After: d, Channels: []uuid.UUID{w.channel.ID}})
		}
		return refusal{want, func(p project) error { return p.SetEscalation(ctx, policy) }}
	}
	return map[string]refusal{
		"windows of no kind": {`field: kind is neither "maintenance" nor "snooze": "x"`, func(p project) error {
			return second(p.Windows(ctx, checks.WindowQuery{Kind: "x"}))
		}},
		"window of no kind":      add(`field: kind is neither "maintenance" nor "snooze": ""`, gate.Window{Duration: time.Hour}),
		"window without an end":  add("field: end is missing: a snooze always ends; set an end, or a duration", gate.Window{Kind: gate.Snooze}),
		"window of a strange":    add("field: checks has a check that is not in the project: "+w.foreign.ID.String(), gate.Window{Kind: gate.Maintenance, Duration: time.Hour, Checks: []uuid.UUID{w.foreign.ID}}),
		"window that recurs":     add("", gate.Window{Kind: gate.Maintenance, Schedule: "0 3 * * *", Duration: time.Hour}),
		"snooze that recurs":     add("field: schedule is only for maintenance: a snooze occurs once", gate.Window{Kind: gate.Snooze, Schedule: "0 3 * * *", Duration: time.Hour}),
		"window that never does": add("field: schedule is not valid: day of month: no month of the expression has a day 30", gate.Window{Kind: gate.Maintenance, Schedule: "0 0 30 2 *", Duration: time.Hour}),
		"steps out of order":     steps("field: steps has a step 2 that does not follow later than step 1: 1m0s after 2m0s", 2*time.Minute, time.Minute),
		"a step too late":        steps("field: steps has a step 1 whose time is out of range: 168h1m0s, from 0 to 7 days", checks.MaxStepAfter+time.Minute),
		"window of a long note":  add("field: note is too long: 501 characters, the maximum is 500", gate.Window{Kind: gate.Snooze, Duration: time.Hour, Note: strings.Repeat("x", 501)}),
	}
}

func (w world) refusedRanges(ctx context.Context) map[string]refusal {
	stats := func(want string, from, to time.Time) refusal {
		return refusal{want, func(p project) error { return second(p.Stats(ctx, w.check.ID, from, to)) }}
	}
	window := func(want string, window flips.Range) refusal {
		return refusal{want, func(p project) error { return second(checks.Collect(p.Flips(ctx, w.check.ID, window))) }}
	}
	limit := func(want string, limit int) refusal {
		return refusal{want, func(p project) error {
			return second(checks.Collect(p.Pings(ctx, w.check.ID, checks.PingQuery{Limit: limit})))
		}}
	}
	const year = 365 * 24 * time.Hour
	const noDay = " is neither a day such as 2026-10-31 nor a month such as 2026-10"
	return map[string]refusal{
		"pings with a limit":       limit("", 1_000_000),
		"pings below none":         limit("field: limit is too small: -1, the minimum is 0", -1),
		"stats of a leap year":     stats("", time.Date(2024, 1, 1, 23, 0, 0, 0, time.UTC), time.Date(2024, 12, 31, 1, 0, 0, 0, time.UTC)),
		"stats of one day more":    stats("field: start is too long before end: the maximum is 366 days", time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)),
		"stats since ever":         stats("field: start is too long before end: the maximum is 366 days", time.Time{}, noon),
		"stats of the first day":   stats("", time.Time{}, time.Time{}),
		"stats backwards":          stats("field: start is after end", noon, noon.AddDate(0, 0, -1)),
		"stats within a day":       stats("", noon, noon.Add(-time.Hour)),
		"stats of the far future":  stats("field: start"+noDay, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)),
		"stats of year 0":          stats("field: start"+noDay, time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC), noon),
		"stats until the end":      stats("field: end"+noDay, noon, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)),
		"flips of a year":          window("", flips.Range{Last: year}),
		"flips of the last moment": window("", flips.Range{Last: 1}),
		"flips of a year and more": window("field: seconds is too large: 31536001, the maximum is 31536000", flips.Range{Last: year + 1}),
		"flips of the longest":     window("field: seconds is too large: 9223372037, the maximum is 31536000", flips.Range{Last: 1<<63 - 1}),
		"flips to come":            window("field: seconds is too small: -1, the minimum is 0", flips.Range{Last: -time.Second}),
		"flips from 1969":          window("", flips.Range{From: time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC)}),
		"flips until 1969":         window("field: end is too small: -86400, the minimum is 0", flips.Range{Until: time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC)}),
		"flips from 3000":          window("field: start is too large: 32503680000, the maximum is 10000000000", flips.Range{From: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)}),
		"flips until 3000":         window("field: end is too large: 32503680000, the maximum is 10000000000", flips.Range{Until: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)}),
		"flips backwards":          window("", flips.Range{From: noon, Until: noon.Add(-time.Hour)}),
	}
}

func (w world) refusedChannels(ctx context.Context) map[string]refusal {
	create := func(want string, c channels.Channel) refusal {
		return refusal{want, func(p project) error { return second(p.CreateChannel(ctx, c)) }}
	}
	upsert := func(want string, c channels.Channel) refusal {
		return refusal{want, func(p project) error { return third(p.UpsertChannel(ctx, c)) }}
	}
	edited := func(want string, edit func(c *channels.Channel) error) refusal {
		return refusal{want, func(p project) error {
			return second(p.UpdateChannel(ctx, w.channel.ID, func(c channels.Channel) (channels.Channel, error) { return c, edit(&c) }))
		}}
	}
	existing := email("x")
	existing.ID = w.channel.ID
	long := email(strings.Repeat("x", 101))
	return map[string]refusal{
		"kind":               create(unknownKind("pigeon"), channels.Channel{Kind: "pigeon", Name: "x"}),
		"no kind":            create("field: kind is missing", channels.Channel{Name: "x"}),
		"kind of an upsert":  upsert(unknownKind("E-mail"), channels.Channel{Kind: "E-mail", Name: "x"}),
		"not configured":     create(`not configured: "`+string(lacking)+`": nobody answers here`, channels.Channel{Kind: lacking, Name: "x"}),
		"upsert of the same": upsert(`not configured: "`+string(lacking)+`": nobody answers here`, channels.Channel{Kind: lacking, Name: "x"}),
		"no setting":         create(`setting: "to": email: to is missing`, channels.Channel{Kind: channels.Email, Name: "x"}),
		"unknown setting":    create(`setting: "cc": email: cc is not a setting of this kind, which has to, notify`, channels.Channel{Kind: channels.Email, Name: "x", Settings: map[string]string{"cc": "a@example.org"}}),
		"long name":          create("field: name is too long: 101 characters, the maximum is 100", long),
		"existing channel":   create("exists; field: id is taken: "+w.channel.ID.String(), existing),
		"upsert, no name":    upsert("field: name is empty", email("")),
		"upsert, other kind": upsert(`field: kind cannot change: the channel "ops" has the kind "email", not "webhook"`,
			channels.Channel{Kind: channels.Webhook, Name: "ops", Settings: map[string]string{"url_down": "https://example.org"}}),
		"edit":           edited("edit", func(*channels.Channel) error { return errEdit }),
		"edit the name":  edited("field: name is too long: 101 characters, the maximum is 100", func(c *channels.Channel) error { c.Name = long.Name; return nil }),
		"edit a setting": edited(`setting: "to": email: to is missing`, func(c *channels.Channel) error { c.Settings = map[string]string{"to": ""}; return nil }),
	}
}

func (w world) refusedPages(ctx context.Context) map[string]refusal {
	create := func(want string, page checks.StatusPage) refusal {
		return refusal{want, func(p project) error { return second(p.CreateStatusPage(ctx, page)) }}
	}
	return map[string]refusal{
		"page slug":      create(`field: slug is empty`, checks.StatusPage{Title: "x"}),
		"page title":     create("field: title is empty", checks.StatusPage{Slug: "x"}),
		"page that is":   create("exists", checks.StatusPage{Slug: "here", Title: "x"}),
		"page elsewhere": create("exists", checks.StatusPage{Slug: "there", Title: "x"}),
		"page to another": {"exists", func(p project) error {
			return second(p.UpdateStatusPage(ctx, checks.StatusPage{ID: w.page.ID, Slug: "there", Title: "x"}))
		}},
	}
}

// TestContractOfOutages calls every method while the database is unavailable.
func TestContractOfOutages(t *testing.T) {
	pg := dbtest.Server(t)
	url, err := pg.Create(t.Context(), "contract")
	if err != nil {
		t.Fatal(err)
	}
	s := serveOn(t, dbtest.DB{Name: "postgres", URL: url}, server.Config{}, "paid", monitor.Config{Channels: contractKinds()})
	here := s.mon.Project(s.project.ID)
	other, err := s.mon.OpenProject(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, here, other)
	key, _, err := here.CreateKey(t.Context(), checks.Admin)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(s.url, key, &client.Config{Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Checks(t.Context(), checks.Query{}); err != nil { // the server knows its key then
		t.Fatal(err)
	}
	pg.Stop()
	for call, try := range w.everything(t.Context()) {
		for side, p := range map[string]project{"monitor": here, "client": c} {
			if got := meaning(try(p)); got != "unavailable" {
				t.Errorf("%s of the %s: %s", call, side, got)
			}
		}
	}
}

// TestContractOfUpserts: the second result of an upsert says whether it created anything.
func TestContractOfUpserts(t *testing.T) {
	eachContract(t, func(t *testing.T, _ *site, sides map[string]project) {
		for name, p := range sides {
			wanted := email(name)
			for _, step := range []struct {
				to   string
				want bool
			}{{"ops@example.org", true}, {"ops@example.org", false}, {"team@example.org", false}} {
				wanted.Settings = map[string]string{"to": step.to}
				c, created, err := p.UpsertChannel(t.Context(), wanted)
				if created != step.want || err != nil || c.Name != name || c.Settings["to"] != step.to {
					t.Errorf("%s: channel %v, created %t, error %v, want %t", name, c, created, err, step.want)
				}
				_, created, err = p.Upsert(t.Context(), checks.Spec{Slug: &name, Desc: &step.to}, checks.UniqueSlug)
				if created != step.want || err != nil {
					t.Errorf("%s: check created %t, error %v, want %t", name, created, err, step.want)
				}
			}
		}
	})
}

// TestBodyUnavailable: a body in object storage that cannot be read now, or was altered there, has the error of a monitor.
func TestBodyUnavailable(t *testing.T) {
	c, _ := answer{503, "application/json", `{"error": "the object storage is unavailable"}`, nil}.clients(t)
	if _, err := c.PingBody(t.Context(), someID, 1); meaning(err) != "body unavailable" {
		t.Error(err)
	}
	sent := 0
	c, err := client.New("https://rollcall.example.org", someKey, &client.Config{HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		sent++
		return respond(r, 502, "application/json", `{"error": "the object storage returned another body than the ping had"}`), nil
	})}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.PingBody(t.Context(), someID, 1); meaning(err) != "body corrupt" || sent != 1 {
		t.Errorf("an altered body: %v after %d requests, want one", err, sent)
	}
}

func second(_ any, err error) error { return err }

func third(_, _ any, err error) error { return err }

// TestContractOfWindows adds windows to a project and to a server, and compares what both say.
func TestContractOfWindows(t *testing.T) {
	eachContract(t, func(t *testing.T, s *site, sides map[string]project) {
		check, err := s.client.Create(t.Context(), checks.Spec{Slug: new("job")})
		if err != nil {
			t.Fatal(err)
		}
		start := s.clock.Now().Truncate(time.Second)
		for side, p := range sides {
			wanted := []gate.Window{
				{Kind: gate.Snooze, Checks: []uuid.UUID{check.ID}, Start: start.Add(-time.Hour), End: start.Add(time.Hour)},
				{Kind: gate.Maintenance, Tags: []string{"a", "b"}, Start: start.Add(time.Hour), End: start.Add(2 * time.Hour), Note: "Disks"},
				{Kind: gate.Maintenance, Start: start.Add(3 * time.Hour), Schedule: "0 3 * * *", Duration: time.Hour, TZ: "Europe/Riga"},
			}
			for i, w := range wanted {
				if wanted[i], err = p.AddWindow(t.Context(), w); err != nil {
					t.Fatal(side, err)
				}
				w.ID, w.By, w.CreatedAt = wanted[i].ID, wanted[i].By, wanted[i].CreatedAt
				equal(t, "added by the "+side, wanted[i], w)
			}
			ended, err := p.EndWindow(t.Context(), wanted[0].ID)
			equal(t, "ended by the "+side, []any{ended.End.Truncate(time.Second), err}, []any{start, error(nil)})
			for other, p := range sides {
				for what, test := range map[string]struct {
					query checks.WindowQuery
					want  []uuid.UUID
				}{
					"all":         {checks.WindowQuery{}, []uuid.UUID{wanted[1].ID, wanted[2].ID}},
					"snoozes":     {checks.WindowQuery{Kind: gate.Snooze}, nil},
					"maintenance": {checks.WindowQuery{Kind: gate.Maintenance}, []uuid.UUID{wanted[1].ID, wanted[2].ID}},
					"past":        {checks.WindowQuery{EndsAfter: start.Add(-time.Minute)}, []uuid.UUID{wanted[0].ID, wanted[1].ID, wanted[2].ID}},
				} {
					var ids []uuid.UUID
					list, err := p.Windows(t.Context(), test.query)
					for _, w := range list {
						ids = append(ids, w.ID)
					}
					equal(t, what+" of the "+other, []any{ids, err}, []any{test.want, error(nil)})
				}
				got, err := p.Window(t.Context(), wanted[2].ID)
				equal(t, "read from the "+other, []any{got.Schedule, got.Start, err}, []any{"0 3 * * *", start.Add(3 * time.Hour), error(nil)})
			}
			for _, w := range wanted[1:] {
				if _, err := p.EndWindow(t.Context(), w.ID); err != nil {
					t.Error(err)
				}
			}
			s.clock.Advance(time.Hour)
			start = start.Add(time.Hour)
		}
		reader, err := s.reader.Windows(t.Context(), checks.WindowQuery{EndsAfter: start.Add(-3 * time.Hour)})
		equal(t, "with a read-only key", []any{reader[0].Checks, reader[0].By, err}, []any{[]uuid.UUID{uuid.Nil}, "", error(nil)})
	})
}
