package verdict_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

var riga = func() *time.Location {
	zone, err := time.LoadLocation("Europe/Riga")
	if err != nil {
		panic(err)
	}
	return zone
}()

// at returns an instant in November 2026 in Riga. The 22nd is a Sunday.
func at(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, riga) }

// daily has pings at one time of day, up to the 22nd.
func (s *story) daily(hour, minute int, days ...int) *story {
	for _, day := range days {
		s.success(at(day, hour, minute))
	}
	return s
}

// story is a check with what has happened to it.
type story struct {
	t  *testing.T
	in verdict.Input
}

// begin returns a check that runs at 03:00 in Riga with 20 minutes of grace and one integration, made on 1 November.
func begin(t *testing.T, spec checks.Spec) *story {
	t.Helper()
	if spec.Timeout == nil && spec.Schedule == nil {
		spec.Schedule = new("0 3 * * *")
	}
	if spec.TZ == nil {
		spec.TZ = new("Europe/Riga")
	}
	if spec.Grace == nil {
		spec.Grace = new(20 * time.Minute)
	}
	c, err := checks.New(uuid.New(), spec, at(1, 12, 0))
	if err != nil {
		t.Fatal(err)
	}
	c.Channels = []uuid.UUID{{1}}
	return &story{t, verdict.Input{Check: c, Receivers: []verdict.Receiver{{Name: "ops", Reach: verdict.Reach{State: verdict.ReachNotified}}}}}
}

func (s *story) apply(c checks.Check, e checks.Effects) *story {
	s.in.Check, s.in.Transitions = c, append(s.in.Transitions, e.Transitions...)
	return s
}

func (s *story) ping(signal pings.Signal, at time.Time) *story {
	s.t.Helper()
	c, p, effects, err := s.in.Check.Ping(signal, at)
	if err != nil {
		s.t.Fatal(err)
	}
	s.in.Pings = slices.Insert(s.in.Pings, 0, p)
	return s.apply(c, effects)
}

func (s *story) success(at time.Time) *story { return s.ping(pings.Signal{}, at) }
func (s *story) start(at time.Time) *story   { return s.ping(pings.Signal{Kind: pings.Start}, at) }
func (s *story) fail(at time.Time) *story    { return s.ping(pings.Signal{Kind: pings.Failure}, at) }

func (s *story) settle(at time.Time) *story { return s.apply(s.in.Check.Settle(at)) }

func (s *story) pause(at time.Time) *story {
	before := s.in.Check.Stored
	c, effects := s.in.Check.Pause(at)
	s.apply(c, effects)
	s.in.Transitions = append(s.in.Transitions, checks.Transition{From: before, To: checks.StatusPaused, At: at.UTC()})
	return s
}

func (s *story) resume(at time.Time) *story {
	c, err := s.in.Check.Resume(at)
	if err != nil {
		s.t.Fatal(err)
	}
	s.in.Check = c
	return s
}

func (s *story) update(spec checks.Spec, at time.Time) *story {
	c, effects, err := s.in.Check.Update(spec, at)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.apply(c, effects)
}

func (s *story) acknowledge(spec checks.AckSpec, at time.Time) *story {
	c, effects, err := s.in.Check.Acknowledge(spec, at)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.apply(c, effects)
}

func (s *story) with(deliveries ...checks.Delivery) *story {
	s.in.Deliveries = deliveries
	return s
}

func (s *story) after(parents ...gate.Parent) *story {
	s.in.Parents = parents
	return s
}

func (s *story) lost(names ...string) *story {
	s.in.Lost = names
	return s
}

func (s *story) failing(name, text string, since time.Time) *story {
	s.in.Receivers = append(s.in.Receivers, verdict.Receiver{Name: name, Kind: channels.Webhook, Reach: verdict.ReachOf(channels.Channel{FailedAt: since, Error: text}, verdict.Outcome{})})
	return s
}

func (s *story) without() *story {
	s.in.Check.Channels, s.in.Receivers = nil, nil
	return s
}

func sent(name string, at time.Time) checks.Delivery {
	return checks.Delivery{ChannelName: name, ChannelKind: channels.Email, State: "sent", Attempts: 1, FinishedAt: at}
}

func TestExplain(t *testing.T) {
	late := at(22, 3, 20)
	run := uuid.NullUUID{UUID: uuid.MustParse("3f2504e0-4f89-41d3-9a0c-0305e82c3301"), Valid: true}
	daily := func() *story { return begin(t, checks.Spec{}).success(at(21, 3, 4)) }
	rules := func(spec checks.Spec) *story { return begin(t, spec).success(at(21, 3, 4)) }
	const missed = "Down since 03:20. The run expected at 03:00 Europe/Riga did not report within its grace of 20 min; last success yesterday 03:04. "
	const tomorrow = "Next run due tomorrow 03:00."
	held := checks.Delivery{ChannelName: "ops", ChannelKind: channels.Email, State: "pending", Held: gate.ByParent, HeldBy: "Dump", Due: at(22, 4, 1)}
	for _, test := range []struct {
		name string
		s    *story
		now  time.Time
		want string
	}{
		// New
		{"new", begin(t, checks.Spec{}), at(1, 13, 0), "New since 12:00 Europe/Riga. Waiting for the first ping. Monitoring starts with the first success or failure."},
		{"only notes", begin(t, checks.Spec{}).ping(pings.Signal{Kind: pings.Log}, at(2, 9, 0)), at(3, 13, 0),
			"New since Sun 12:00 Europe/Riga. No success or failure received yet. Monitoring starts with the first success or failure."},
		{"first run", begin(t, checks.Spec{}).start(at(1, 12, 50)), at(1, 13, 0),
			"New since 12:00 Europe/Riga. No success or failure received yet. Monitoring starts with the first success or failure. " +
				"A run has been in progress since 12:50, for 10 min of at most 20 min."},
		{"resumed", daily().pause(at(21, 9, 0)).resume(at(21, 10, 0)), at(22, 2, 0),
			"New since it was resumed yesterday 10:00 Europe/Riga. No success or failure received since. Monitoring starts with the first success or failure."},
		{"resumed by a start", daily().pause(at(21, 9, 0)).start(at(21, 10, 0)), at(21, 10, 5),
			"New: it was paused at 09:00 Europe/Riga, and the start of a run resumed it. No success or failure received since. Monitoring starts " +
				"with the first success or failure. A run has been in progress since 10:00, for 5 min of at most 20 min."},

		// Paused
		{"paused", daily().pause(at(21, 9, 0)), at(21, 10, 0), "Paused since 09:00 Europe/Riga; it was up before. The next start, success or failure resumes it."},
		{"paused for good", rules(checks.Spec{ManualResume: new(true)}).settle(late).pause(at(22, 9, 0)), at(28, 10, 0),
			"Paused since Sun 09:00 Europe/Riga; it was down before. Pings are ignored until it is resumed."},

		// Up
		{"up", daily(), at(21, 12, 0), "Up since 03:04. The last run succeeded at 03:04. Next run due tomorrow 03:00 Europe/Riga (20 min grace)."},
		{"up for long", daily().success(at(22, 3, 5)), at(22, 12, 0),
			"Up since yesterday 03:04. The last run succeeded at 03:05. Next run due tomorrow 03:00 Europe/Riga (20 min grace)."},
		{"took", begin(t, checks.Spec{}).start(at(21, 3, 0)).success(at(21, 3, 4).Add(2500 * time.Millisecond)), at(21, 12, 0),
			"Up since 03:04. The last run succeeded at 03:04 and took 4 min 2 s. Next run due tomorrow 03:00 Europe/Riga (20 min grace)."},
		{"running", daily().start(at(22, 3, 0)), at(22, 3, 12),
			"Late since 03:00. The run expected at 03:00 Europe/Riga has not reported yet; last success yesterday 03:04. " +
				"A run has been in progress since 03:00, for 12 min of at most 20 min. It goes down at 03:20 unless it reports (20 min of grace)."},
		{"running early, with a run identifier", rules(checks.Spec{MaxRuntime: new(3 * time.Hour)}).ping(pings.Signal{Kind: pings.Start, RunID: run}, at(22, 2, 50)), at(22, 2, 59),
			"Up since yesterday 03:04. The last run succeeded yesterday 03:04. The run 3f2504e0 has been in progress since 02:50, for 9 min of at most 3 h. " +
				"Next run due at 03:00 Europe/Riga (20 min grace)."},
		{"two runs, each with a limit", rules(checks.Spec{MaxRuntime: new(3 * time.Hour)}).ping(pings.Signal{Kind: pings.Start, RunID: run}, at(22, 2, 40)).start(at(22, 2, 50)), at(22, 2, 59),
			"Up since yesterday 03:04. The last run succeeded yesterday 03:04. 2 runs are in progress. " +
				"The oldest, 3f2504e0, has been in progress since 02:40, for 19 min of at most 3 h. Next run due at 03:00 Europe/Riga (20 min grace)."},
		{"two runs", rules(checks.Spec{}).ping(pings.Signal{Kind: pings.Start, RunID: run}, at(22, 2, 40)).start(at(22, 2, 50)), at(22, 2, 59),
			"Up since yesterday 03:04. The last run succeeded yesterday 03:04. 2 runs are in progress. " +
				"The newest has been in progress since 02:50, for 9 min of at most 20 min. Next run due at 03:00 Europe/Riga (20 min grace)."},
		{"a hung run beside one that ended", rules(checks.Spec{MaxRuntime: new(90 * time.Minute)}).ping(pings.Signal{Kind: pings.Start, RunID: run}, at(22, 1, 0)).start(at(22, 1, 30)).
			success(at(22, 1, 40)).with(), at(22, 2, 55),
			"Down since 02:30. The run 3f2504e0 that started at 01:00 Europe/Riga did not end within its maximum of 1 h 30 min; last success at 01:40. " +
				"The alert is being sent. Next run due at 03:00."},
		{"recovered", daily().settle(late).success(at(22, 3, 39)).with(sent("ops", at(22, 3, 39).Add(time.Second))), at(22, 4, 0),
			"Up since 03:39, after 19 min down. The last run succeeded at 03:39. Next run due tomorrow 03:00 Europe/Riga (20 min grace). *ops* was notified at 03:39:01."},
		{"recovered long ago", daily().settle(late).success(at(22, 3, 39)).success(at(23, 3, 1)).with(sent("ops", at(22, 3, 39))), at(23, 4, 0),
			"Up since yesterday 03:39. The last run succeeded at 03:01. Next run due tomorrow 03:00 Europe/Riga (20 min grace)."},
		{"last time", begin(t, checks.Spec{Schedule: new("2026-11-20 03:00")}).success(at(20, 3, 1)), at(21, 12, 0),
			"Up since yesterday 03:01 Europe/Riga. The last run succeeded yesterday 03:01. The schedule has ended, so no further run is expected."},
		{"up without integrations", daily().without(), at(21, 12, 0),
			"Up since 03:04. The last run succeeded at 03:04. Next run due tomorrow 03:00 Europe/Riga (20 min grace). " +
				"This check has no integrations, so no one will be notified."},
		{"failing integration", daily().failing("pager", "410 Gone.", at(20, 9, 0)), at(21, 12, 0),
			"Up since 03:04. The last run succeeded at 03:04. Next run due tomorrow 03:00 Europe/Riga (20 min grace). " +
				"*pager* has been failing since yesterday 09:00: 410 Gone."},

		// Late
		{"late", daily(), at(22, 3, 7), "Late since 03:00. The run expected at 03:00 Europe/Riga has not reported yet; last success yesterday 03:04. " +
			"It goes down at 03:20 unless it reports (20 min of grace)."},

		// Down, and who was notified
		{"missed", daily().settle(late).with(sent("ops", late.Add(2*time.Second)), sent("pager", late.Add(3*time.Second))), at(22, 4, 0),
			missed + "*ops* and *pager* were notified at 03:20:02 and 03:20:03. " + tomorrow},
		{"missed, read the next day", daily().settle(late).with(sent("ops", late.Add(2*time.Second)), sent("pager", late.Add(3*time.Second))), at(23, 1, 0),
			"Down since yesterday 03:20. The run expected yesterday 03:00 Europe/Riga did not report within its grace of 20 min; last success on Sat 03:04. " +
				"*ops* and *pager* were notified yesterday 03:20:02 and 03:20:03. Next run due at 03:00."},
		{"nobody has looked yet", daily(), at(22, 4, 0), missed + "The alert is being sent. " + tomorrow},
		{"one second", daily().settle(late).with(sent("ops", late), sent("pager", late.Add(time.Millisecond))), at(22, 4, 0),
			missed + "*ops* and *pager* were notified at 03:20:00. " + tomorrow},
		{"many", daily().settle(late).with(sent("f", late.Add(9*time.Second)), sent("a", late), sent("b", late), sent("c", late), sent("d", late), sent("e", late)), at(22, 4, 0),
			missed + "*a*, *b*, *c*, *d*, *e* and 1 other were notified between 03:20:00 and 03:20:09. " + tomorrow},
		{"group", daily().settle(late).with(checks.Delivery{ChannelName: "all", ChannelKind: channels.Group, State: "sent", FinishedAt: late}, sent("ops", late)), at(22, 4, 0),
			missed + "*ops* was notified at 03:20:00. " + tomorrow},
		{"no integration", daily().settle(late).without(), at(22, 4, 0), missed + tomorrow + " This check has no integrations, so no one will be notified."},
		{"assigned too late", daily().settle(late), at(22, 4, 0), missed + "No alert was recorded. " + tomorrow},
		{"on its way", daily().settle(late).with(checks.Delivery{ChannelName: "ops", State: "pending", Attempts: 1, Due: at(22, 3, 21)}), at(22, 3, 20),
			missed + "*ops* is being notified. " + tomorrow},
		{"retried", daily().settle(late).with(checks.Delivery{ChannelName: "ops", State: "pending", Attempts: 3, Due: at(22, 4, 1), Error: "no answer within 10s"}), at(22, 4, 0),
			missed + "*ops* has not been notified: 3 attempts failed so far: no answer within 10s; next attempt at 04:01:00. " + tomorrow},
		{"failed", daily().settle(late).with(sent("ops", late), checks.Delivery{ChannelName: "", ChannelKind: channels.Webhook, State: "failed", FinishedAt: late, Error: "410 Gone"}).
			failing("", "410 Gone", late), at(22, 4, 0),
			missed + "*ops* was notified at 03:20:00. *webhook* was not notified: 410 Gone. " + tomorrow + " *webhook* has been failing since 03:20: 410 Gone."},
		{"superseded", daily().settle(late).with(checks.Delivery{ChannelName: "ops", State: "superseded", FinishedAt: late}), at(22, 4, 0),
			missed + "A newer alert replaced the one to *ops*. " + tomorrow},
		{"skipped", daily().settle(late).with(checks.Delivery{ChannelName: "ops", State: "skipped", FinishedAt: late}), at(22, 4, 0),
			missed + "*ops* does not send down alerts. " + tomorrow},
		{"skipped by two", daily().settle(late).with(sent("a", late), checks.Delivery{ChannelName: "b", State: "skipped", FinishedAt: late},
			checks.Delivery{ChannelName: "c", State: "skipped", FinishedAt: late}), at(22, 4, 0),
			missed + "*a* was notified at 03:20:00. *b* and *c* do not send down alerts. " + tomorrow},

		// Failures and overruns
		{"failed signal", daily().fail(at(22, 2, 0)).with(sent("ops", at(22, 2, 0))), at(22, 2, 30),
			"Down since 02:00 Europe/Riga. The job reported a failure; last success yesterday 03:04. *ops* was notified at 02:00:00. Next run due at 03:00."},
		{"exit status and output", daily().ping(pings.Signal{Kind: pings.Failure, ExitStatus: new(2), Body: []byte("\r\n\x1b[31mtar: /: no space\x1b[0m left\nmore")}, at(22, 2, 0)).
			with(sent("ops", at(22, 2, 0))), at(22, 2, 30),
			"Down since 02:00 Europe/Riga. The job reported a failure with exit status 2: “tar: /: no space left”; last success yesterday 03:04. " +
				"*ops* was notified at 02:00:00. Next run due at 03:00."},
		{"again", daily().fail(at(22, 2, 0)).fail(at(22, 2, 10)).with(sent("ops", at(22, 2, 0))), at(22, 2, 30),
			"Down since 02:00 Europe/Riga. The job reported a failure; last success yesterday 03:04. It reported another failure, most recently at 02:10. " +
				"*ops* was notified at 02:00:00. Next run due at 03:00."},
		{"message", daily().ping(pings.Signal{Kind: pings.Failure, Scheme: "email", Mail: &pings.Mail{}, Body: []byte("Subject: failed")}, at(22, 2, 0)).with(sent("ops", at(22, 2, 0))), at(22, 2, 30),
			"Down since 02:00 Europe/Riga. The job reported a failure; last success yesterday 03:04. *ops* was notified at 02:00:00. Next run due at 03:00."},
		{"overrun of the grace time", daily().start(at(22, 2, 30)).settle(at(22, 2, 50)).with(sent("ops", at(22, 2, 50))), at(22, 2, 55),
			"Down since 02:50. The run that started at 02:30 Europe/Riga did not end within its grace of 20 min; last success yesterday 03:04. *ops* was notified at 02:50:00. " +
				"Next run due at 03:00."},
		{"overrun of the maximum", rules(checks.Spec{MaxRuntime: new(90 * time.Minute)}).ping(pings.Signal{Kind: pings.Start, RunID: run}, at(22, 1, 0)).with(), at(22, 2, 55),
			"Down since 02:30. The run 3f2504e0 that started at 01:00 Europe/Riga did not end within its maximum of 1 h 30 min; last success yesterday 03:04. " +
				"The alert is being sent. Next run due at 03:00."},
		{"run while down", daily().settle(late).start(at(22, 3, 50)).with(sent("ops", late)), at(22, 4, 0),
			missed + "A run has been in progress since 03:50, for 10 min of at most 20 min. *ops* was notified at 03:20:00. " + tomorrow},
		{"simple", begin(t, checks.Spec{Timeout: new(2 * time.Hour), TZ: new("UTC")}).success(at(22, 3, 0)).settle(at(22, 6, 0)).with(sent("ops", at(22, 5, 20))), at(22, 6, 0),
			"Down since 03:20. The run expected at 03:00 UTC did not report within its grace of 20 min; last success at 01:00. *ops* was notified at 03:20:00. " +
				"It comes up at the next success."},
		{"shorter grace than has passed", daily().update(checks.Spec{Grace: new(10 * time.Minute)}, at(22, 3, 15)).with(sent("ops", at(22, 3, 15))), at(22, 4, 0),
			"Down since 03:15. The run expected at 03:00 Europe/Riga did not report before the settings were changed; last success yesterday 03:04. " +
				"*ops* was notified at 03:15:00. " + tomorrow},
		{"new grace", daily().settle(late).update(checks.Spec{Grace: new(time.Hour)}, at(22, 3, 50)).with(sent("ops", late)), at(22, 4, 0),
			"Down since 03:20 Europe/Riga. The expected run did not report in time; last success yesterday 03:04. *ops* was notified at 03:20:00. " +
				"Its timing was changed at 03:50; it stays down until the next success. " + tomorrow},
		{"new interval", begin(t, checks.Spec{Timeout: new(2 * time.Hour)}).success(at(22, 3, 0)).settle(at(22, 6, 0)).update(checks.Spec{Timeout: new(9 * time.Hour)}, at(22, 6, 0)).with(sent("ops", at(22, 5, 20))), at(22, 6, 10),
			"Down since 05:20 Europe/Riga. The expected run did not report in time; last success at 03:00. *ops* was notified at 05:20:00. " +
				"Its timing was changed at 06:00; it stays down until the next success."},

		// The time zone
		{"hours early", begin(t, checks.Spec{}).daily(1, 2, 19, 20, 21), at(21, 12, 0),
			"Down since 03:20. The run expected at 03:00 Europe/Riga did not report within its grace of 20 min; last success at 01:02. The alert is being sent. " +
				"Next run due tomorrow 03:00. The last 3 runs arrived about 2 h before the expected time. The time zone of the check, Europe/Riga, may be wrong."},
		{"hours late", begin(t, checks.Spec{Grace: new(9 * time.Hour)}).daily(8, 4, 19, 20, 21), at(21, 12, 0),
			"Up since Thu 08:04. The last run succeeded at 08:04. Next run due tomorrow 03:00 Europe/Riga (9 h grace). " +
				"The last 3 runs arrived about 5 h after the expected time. If they do not take that long, the time zone of the check, Europe/Riga, may be wrong."},
		{"an odd zone, with starts", begin(t, checks.Spec{Grace: new(9 * time.Hour)}).start(at(19, 8, 30)).daily(8, 40, 19).start(at(20, 8, 31)).daily(8, 44, 20).start(at(21, 8, 32)).daily(8, 40, 21), at(21, 12, 0),
			"Up since Thu 08:40. The last run succeeded at 08:40 and took 8 min. Next run due tomorrow 03:00 Europe/Riga (9 h grace). " +
				"The last 3 runs arrived about 5 h 30 min after the expected time. The time zone of the check, Europe/Riga, may be wrong."},
		{"twice is no rule", begin(t, checks.Spec{Grace: new(9 * time.Hour)}).daily(8, 4, 20, 21), at(21, 12, 0),
			"Up since yesterday 08:04. The last run succeeded at 08:04. Next run due tomorrow 03:00 Europe/Riga (9 h grace)."},
		{"not steadily", begin(t, checks.Spec{Grace: new(9 * time.Hour)}).daily(8, 4, 19).daily(9, 4, 20).daily(8, 4, 21), at(21, 12, 0),
			"Up since Thu 08:04. The last run succeeded at 08:04. Next run due tomorrow 03:00 Europe/Riga (9 h grace)."},
		{"tried on one day", begin(t, checks.Spec{Grace: new(9 * time.Hour)}).daily(8, 4, 20).daily(8, 1, 21).daily(8, 4, 21), at(21, 12, 0),
			"Up since yesterday 08:04. The last run succeeded at 08:04. Next run due tomorrow 03:00 Europe/Riga (9 h grace)."},
		{"other timing since", begin(t, checks.Spec{Grace: new(9 * time.Hour)}).daily(8, 4, 19, 20, 21).update(checks.Spec{Schedule: new("0 4 * * *")}, at(21, 9, 0)), at(21, 12, 0),
			"Up since Thu 08:04. The last run succeeded at 08:04. Next run due tomorrow 04:00 Europe/Riga (9 h grace)."},
		{"often", begin(t, checks.Spec{Schedule: new("0 * * * *"), Grace: new(time.Hour)}).success(at(21, 9, 29)).success(at(21, 10, 29)).success(at(21, 11, 29)), at(21, 11, 59),
			"Up since 09:29. The last run succeeded at 11:29. Next run due at 12:00 Europe/Riga (1 h grace)."},

		// Rules
		{"after failures", rules(checks.Spec{AlertAfter: new(3)}).settle(late), at(22, 4, 0),
			missed + "No one has been notified yet: alerts start after 3 failures in a row, and there was 1; without a success, the next failure counts tomorrow 03:20. " + tomorrow},
		{"after failures, two", rules(checks.Spec{AlertAfter: new(3)}).settle(late).fail(at(22, 3, 30)), at(22, 4, 0),
			missed + "It reported another failure, most recently at 03:30. " +
				"No one has been notified yet: alerts start after 3 failures in a row, and there were 2; without a success, the next failure counts tomorrow 03:20. " + tomorrow},
		{"quiet", rules(checks.Spec{QuietHours: new("22:00-06:00")}).settle(late), at(22, 4, 0),
			missed + "No one has been notified yet: quiet hours delay the alert until 06:00. " + tomorrow},
		{"quiet, up again", rules(checks.Spec{QuietHours: new("22:00-06:00")}).settle(late).success(at(22, 3, 39)), at(22, 4, 0),
			"Up since 03:39, after 19 min down. The last run succeeded at 03:39. Next run due tomorrow 03:00 Europe/Riga (20 min grace). " +
				"No one has been notified yet: quiet hours delay the alert until 06:00."},
		{"reminders to come", rules(checks.Spec{RepeatEvery: new(4 * time.Hour)}).settle(late).with(sent("ops", late)), at(22, 4, 0),
			missed + "*ops* was notified at 03:20:00. The first reminder is due at 07:20. " + tomorrow},
		{"reminded", rules(checks.Spec{RepeatEvery: new(4 * time.Hour)}).settle(late).settle(at(22, 7, 20)).with(sent("ops", late),
			checks.Delivery{ChannelName: "ops", State: "sent", Reminder: 1, FinishedAt: at(22, 7, 20)}), at(22, 8, 0),
			missed + "*ops* was notified at 03:20:00. Reminder 1 was sent at 07:20; the next is due at 11:20. " + tomorrow},
		{"acknowledged", rules(checks.Spec{RepeatEvery: new(4 * time.Hour)}).settle(late).acknowledge(checks.AckSpec{By: "Anna"}, at(22, 3, 30)).with(sent("ops", late)), at(23, 1, 0),
			"Down since yesterday 03:20. The run expected yesterday 03:00 Europe/Riga did not report within its grace of 20 min; last success on Sat 03:04. " +
				"Acknowledged by Anna yesterday 03:30. *ops* was notified yesterday 03:20:00. Next run due at 03:00."},
		{"acknowledged until a time", rules(checks.Spec{RepeatEvery: new(4 * time.Hour)}).settle(late).
			acknowledge(checks.AckSpec{By: "Anna", For: 2 * time.Hour, Note: "the disk is full, a new one comes."}, at(22, 3, 30)).with(sent("ops", late)), at(22, 4, 0),
			missed + "Acknowledged by Anna at 03:30 until 05:30: the disk is full, a new one comes. *ops* was notified at 03:20:00. The first reminder is due at 05:30. " + tomorrow},
		{"held for a parent", daily().settle(late).with(held).after(gate.Parent{Name: "Dump", Down: true}, gate.Parent{Name: "other"}), at(22, 4, 0),
			missed + "Its alert waits because Dump is down. " + tomorrow},
		{"held for a late parent", daily().settle(late).with(held).after(gate.Parent{Name: "Dump", Late: at(22, 5, 0)}), at(22, 4, 0),
			missed + "Its alert waits because Dump is late. " + tomorrow},
		{"held, and the parent is up since", daily().settle(late).with(held).after(gate.Parent{Name: "Dump"}), at(22, 4, 0),
			missed + "Its alert waits because Dump is down or late, or has just come up. " + tomorrow},
		{"a parent is down", daily().after(gate.Parent{Name: "Dump", Down: true}), at(22, 2, 0),
			"Up since yesterday 03:04. The last run succeeded yesterday 03:04. Next run due at 03:00 Europe/Riga (20 min grace). If it goes down, its alert waits because Dump is down."},
		{"a parent is lost", daily().after().lost("dump", "x"), at(22, 2, 0),
			"Up since yesterday 03:04. The last run succeeded yesterday 03:04. Next run due at 03:00 Europe/Riga (20 min grace). It follows dump, x, which is not one check of this project, so no alert waits for that."},
		{"record-only", rules(checks.Spec{RecordOnly: new(true), AlertAfter: new(2)}).settle(late).after(gate.Parent{Name: "Dump", Down: true}), at(22, 4, 0),
			missed + tomorrow + " Never alerts: record-only."},
		{"record-only, alerted before", daily().settle(late).update(checks.Spec{RecordOnly: new(true)}, at(22, 3, 30)).with(sent("ops", late)), at(22, 4, 0),
			missed + "*ops* was notified at 03:20:00. " + tomorrow + " Never alerts: record-only."},
		{"late report", daily().settle(at(22, 3, 5)).ping(pings.Signal{Kind: pings.Failure, At: at(22, 3, 2)}, at(22, 3, 10)), at(22, 3, 15),
			"Down since 03:02 Europe/Riga. The job reported a failure; last success yesterday 03:04. " +
				"No one has been notified yet: the job reported late, so the alert waits for another failure. " + tomorrow},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.s.in.Now = test.now
			if got := verdict.Explain(test.s.in).Text(nil); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestViewersZone(t *testing.T) {
	s := begin(t, checks.Spec{}).success(at(21, 3, 4))
	s.in.Now = at(22, 8, 0)
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	const want = "Down since yesterday 20:20. The run expected yesterday 20:00 America/New_York did not report within its grace of 20 min; last success on Fri 20:04."
	if got := verdict.Explain(s.in).Text(zone); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Clocks in Riga go from 03:00 to 04:00 on 29 March, and from 04:00 back to 03:00 on 25 October.
func TestClockChanges(t *testing.T) {
	for _, test := range []struct {
		name       string
		ping, now  time.Time
		expression string
		want       string
	}{
		{"spring, skipped", time.Date(2026, 3, 28, 3, 34, 0, 0, riga), time.Date(2026, 3, 29, 8, 0, 0, 0, riga), "30 3 * * *",
			"Down since 04:20. The run expected at 04:00 Europe/Riga did not report within its grace of 20 min; last success yesterday 03:34. The alert"},
		{"spring, yesterday is 23 hours ago", time.Date(2026, 3, 28, 12, 4, 0, 0, riga), time.Date(2026, 3, 29, 11, 0, 0, 0, riga), "0 12 * * *",
			"Up since yesterday 12:04. The last run succeeded yesterday 12:04. Next run due at 12:00 Europe/Riga (20 min grace)."},
		{"autumn, first", time.Date(2026, 10, 24, 3, 34, 0, 0, riga), time.Date(2026, 10, 25, 0, 40, 0, 0, time.UTC), "30 3 * * *",
			"Late since 03:30 EEST. The run expected at 03:30 EEST Europe/Riga has not reported yet; last success yesterday 03:34. It goes down at 03:50 EEST unless"},
		{"autumn, both", time.Date(2026, 10, 24, 3, 54, 0, 0, riga), time.Date(2026, 10, 25, 6, 0, 0, 0, riga), "50 3 * * *",
			"Down since 03:10 EET. The run expected at 03:50 EEST Europe/Riga did not report within its grace of 20 min; last success yesterday 03:54. The alert"},
		{"autumn, midnight is 25 hours ago", time.Date(2026, 10, 24, 23, 59, 0, 0, riga), time.Date(2026, 10, 25, 23, 59, 0, 0, riga), "58 23 * * *",
			"Late since 23:58. The run expected at 23:58 Europe/Riga has not reported yet; last success yesterday 23:59."},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := checks.New(uuid.New(), checks.Spec{Schedule: &test.expression, TZ: new("Europe/Riga"), Grace: new(20 * time.Minute)}, time.Date(2026, 1, 1, 0, 0, 0, 0, riga))
			if err != nil {
				t.Fatal(err)
			}
			c.Channels = []uuid.UUID{{1}}
			s := (&story{t, verdict.Input{Check: c}}).success(test.ping)
			s.in.Now = test.now
			if got := verdict.Explain(s.in).Text(nil); !strings.HasPrefix(got, test.want) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestHostileNames(t *testing.T) {
	late := at(22, 3, 20)
	evil := "a*\r\nUp since 03:00.\u202e<script>\x00\xff" + strings.Repeat("x", 500)
	s := begin(t, checks.Spec{}).success(at(21, 3, 4)).ping(pings.Signal{Kind: pings.Failure, Body: []byte(evil)}, late).with(
		sent(evil, late), checks.Delivery{ChannelName: evil, State: "failed", Error: evil},
		checks.Delivery{ChannelName: evil, State: "pending", Error: evil}, checks.Delivery{ChannelName: "\u200b"}).failing(evil, evil, late)
	s.in.Now = at(22, 4, 0)
	v := verdict.Explain(s.in)
	if text := v.Text(nil); strings.ContainsAny(text, "\r\n\x00\u202e\ufffd") || len(text) > 2500 {
		t.Errorf("%d bytes: %q", len(text), text)
	}
	for _, sentence := range v.Sentences {
		for _, p := range sentence {
			if strings.Contains(v.Words(p, nil), "Up since") && p.Kind == verdict.Emphasis {
				t.Errorf("a name became %v", p)
			}
			if p.Kind == verdict.Integration && p.Text == "" {
				t.Errorf("an integration without a name in %v", sentence)
			}
		}
	}
}

func TestForAlert(t *testing.T) {
	late := at(22, 3, 20)
	down := checks.Transition{To: checks.StatusDown, At: late, Reason: flips.Overdue}
	up := checks.Transition{To: checks.StatusUp, At: at(22, 3, 39), Reason: flips.Success}
	daily := func() *story { return begin(t, checks.Spec{}).success(at(21, 3, 4)) }
	for _, test := range []struct {
		name     string
		s        *story
		flip     verdict.Flip
		reminder int
		now      time.Time
		want     string
	}{
		{"down", daily().settle(late), verdict.Flip{Transition: down}, 0, late,
			"Down since 22 Nov 03:20. The run expected on 22 Nov 03:00 Europe/Riga did not report within its grace of 20 min; last success on 21 Nov 03:04."},
		{"reminder", daily().settle(late), verdict.Flip{Transition: down}, 1, at(22, 7, 20),
			"Still down after 4 h, since 22 Nov 03:20. The run expected on 22 Nov 03:00 Europe/Riga did not report within its grace of 20 min; last success on 21 Nov 03:04."},
		{"over", daily().settle(late).success(at(22, 3, 39)), verdict.Flip{Transition: down, UpAt: at(22, 3, 39)}, 0, at(22, 4, 0),
			"Was down from 22 Nov 03:20 to 22 Nov 03:39, for 19 min. The run expected on 22 Nov 03:00 Europe/Riga did not report within its grace of 20 min; last success on 21 Nov 03:04."},
		{"up", daily().settle(late).success(at(22, 3, 39)), verdict.Flip{Transition: up, DownAt: late}, 0, at(22, 4, 0),
			"Up since 22 Nov 03:39, after 19 min down. Next run due on 23 Nov 03:00 Europe/Riga."},
		{"exit status and output", daily().ping(pings.Signal{Kind: pings.Failure, ExitStatus: new(7), Body: []byte("copying\ndisk full\ncleaning up\n")}, at(22, 2, 0)),
			verdict.Flip{Transition: checks.Transition{To: checks.StatusDown, At: at(22, 2, 0).UTC(), Reason: flips.Failure}}, 0, at(22, 2, 0),
			"Down since 22 Nov 02:00 Europe/Riga. The job reported a failure with exit status 7: “disk full”; last success on 21 Nov 03:04."},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.s.in.Now = test.now
			if got := verdict.ForAlert(test.s.in, test.flip, test.reminder).Text(nil); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestSchedule(t *testing.T) {
	for want, s := range map[string]checks.Settings{
		"every 2 hours":                      {Timeout: 2 * time.Hour},
		"every day":                          {Timeout: 24 * time.Hour},
		"every 5 minutes":                    {Timeout: 5 * time.Minute},
		"every 1 h 30 min":                   {Timeout: 90 * time.Minute},
		"every 7 days":                       {Timeout: 168 * time.Hour},
		"at 03:00 every day, in Europe/Riga": {Schedule: "0 3 * * *", TZ: "Europe/Riga"},
		"0 3 * * * (Mars/Phobos)":            {Schedule: "0 3 * * *", TZ: "Mars/Phobos"},
	} {
		if got := verdict.Schedule(s); got != want {
			t.Errorf("Schedule = %q, want %q", got, want)
		}
	}
}

func TestTime(t *testing.T) {
	now := at(22, 12, 0)
	for want, at := range map[string]time.Time{
		"03:04": at(22, 3, 4), "yesterday 03:04": at(21, 3, 4), "tomorrow 03:04": at(23, 3, 4), "Mon 03:39": at(16, 3, 39), "Sat 03:39": at(28, 3, 39),
		"15 Nov 03:00": at(15, 3, 0), "3 Oct 03:00": time.Date(2026, 10, 3, 3, 0, 0, 0, riga), "3 Oct 2025 03:00": time.Date(2025, 10, 3, 3, 0, 0, 0, riga),
		"25 Oct 03:20 EEST": time.Date(2026, 10, 25, 0, 20, 0, 0, time.UTC), "25 Oct 03:20 EET": time.Date(2026, 10, 25, 1, 20, 0, 0, time.UTC), "25 Oct 04:00": time.Date(2026, 10, 25, 2, 0, 0, 0, time.UTC),
	} {
		if got := verdict.Time(at, now, riga); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
