package verdict_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/pings"
)

// A backup that runs at 03:00 misses its run, in quiet hours.
func ExampleRehearse() {
	riga := time.FixedZone("EET", 2*60*60)
	spec := checks.Spec{
		Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Grace: new(20 * time.Minute),
		AlertAfter: new(2), QuietHours: new("22:00-06:00"), RepeatEvery: new(4 * time.Hour),
	}
	c, err := checks.New(uuid.New(), spec, time.Date(2026, 11, 1, 0, 0, 0, 0, riga))
	if err != nil {
		panic(err)
	}
	ops := channels.Channel{ID: uuid.New(), Name: "Ops", Kind: channels.Email}
	recovery := channels.Channel{ID: uuid.New(), Name: "Log", Kind: channels.Webhook, Settings: map[string]string{"notify": "up"}}
	c.Channels = []uuid.UUID{ops.ID, recovery.ID}
	now := time.Date(2026, 11, 23, 9, 30, 0, 0, riga)
	if c, _, _, err = c.Ping(pings.Signal{}, now); err != nil {
		panic(err)
	}
	r := verdict.Rehearse(verdict.RehearseInput{Check: c, Now: now, Channels: []channels.Channel{ops, recovery}})
	fmt.Println(r.Summary(nil))
	for _, s := range r.Steps {
		fmt.Println(s.At.In(r.Zone).Format("Mon 15:04"), r.Text(s, nil))
	}
	for _, to := range r.Receivers {
		fmt.Printf("%s: %s, %s\n", to.Name, r.Words(to, nil), r.LastWords(to, nil))
	}
	// Output:
	// If it does not report, Ops is notified on Wed 06:00, 1 day 2 h after it goes down.
	// Tue 03:00 A run is expected.
	// Tue 03:20 The check goes down: nothing was reported within the grace of 20 min. This is failure 1 of 2 in a row, so no alert is sent yet.
	// Wed 03:20 Failure 2 of 2 in a row.
	// Wed 03:20 Quiet hours hold the alert until Wed 06:00.
	// Wed 06:00 The alert is sent to Ops.
	// Wed 10:00 Reminder 1 is sent; another follows every 4 h.
	// Wed 14:00 Reminder 2 is sent; another follows every 4 h.
	// Ops: notified, no alert yet
	// Log: sends recovery alerts only, no alert yet
}

// rehearsed returns the lines of a rehearsal.
func rehearsed(in verdict.RehearseInput) []string {
	r := verdict.Rehearse(in)
	lines := []string{r.Summary(nil)}
	for _, s := range r.Steps {
		lines = append(lines, s.At.In(r.Zone).Format("2 15:04 ")+r.Text(s, nil))
	}
	for _, to := range r.Receivers {
		name := to.Label()
		if to.Group != "" {
			name += " via " + to.Group
		}
		lines = append(lines, name+": "+r.Words(to, nil)+", "+r.LastWords(to, nil))
	}
	return lines
}

func TestRehearse(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	ops := channels.Channel{ID: uuid.New(), Name: "Ops", Kind: channels.Email}
	pager := channels.Channel{ID: uuid.New(), Name: "Pager", Kind: channels.SMS, FailedAt: noon.Add(-time.Hour), Error: "no credit"}
	log := channels.Channel{ID: uuid.New(), Name: "Log", Kind: channels.Webhook, Settings: map[string]string{"notify": "up"}}
	all := channels.Channel{ID: uuid.New(), Name: "All", Kind: channels.Group, Settings: map[string]string{
		"channels": strings.Join([]string{ops.ID.String(), pager.ID.String(), log.ID.String()}, ","),
	}}
	empty := channels.Channel{ID: uuid.New(), Name: "Nobody", Kind: channels.Group, Settings: map[string]string{"channels": uuid.NewString()}}
	list := []channels.Channel{all, ops, pager, log, empty}
	type change = func(c checks.Check) checks.Check
	ping := func(kind pings.Kind, ago time.Duration) change {
		return func(c checks.Check) checks.Check {
			c, _, _, err := c.Ping(pings.Signal{Kind: kind}, noon.Add(-ago))
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
	}
	run := func(n byte, ago time.Duration) change {
		return func(c checks.Check) checks.Check {
			c, _, _, err := c.Ping(pings.Signal{Kind: pings.Start, RunID: uuid.NullUUID{UUID: uuid.UUID{n}, Valid: true}}, noon.Add(-ago))
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
	}
	pause := func(c checks.Check) checks.Check { c, _ = c.Pause(noon); return c }
	hourly := checks.Spec{Timeout: new(time.Hour), Grace: new(10 * time.Minute)}
	with := func(spec checks.Spec, change func(*checks.Spec)) checks.Spec { change(&spec); return spec }
	tests := map[string]struct {
		spec    checks.Spec
		to      []channels.Channel
		changes []change
		failure bool
		lacks   channels.Kind
		steps   []gate.Step
		windows []gate.Window
		parents []gate.Parent
		waiting []gate.Event
		want    []string
	}{
		"a group, and a member twice": {spec: hourly, to: []channels.Channel{all, ops}, changes: []change{ping(pings.Success, time.Minute)}, want: []string{
			"If it does not report, Ops and Pager are notified at 13:09.",
			"23 12:59 A run is expected.",
			"23 13:09 The check goes down: nothing was reported within the grace of 10 min.",
			"23 13:09 The alert is sent to Ops and Pager.",
			"Ops: notified, last alert sent yesterday 12:00",
			"Pager via All: failing since 11:00: no credit, last alert failed at 11:00",
			"Log via All: sends recovery alerts only, no alert yet",
		}},
		"an escalation policy": {spec: with(hourly, func(s *checks.Spec) { s.RepeatEvery = new(2 * time.Hour) }), to: []channels.Channel{ops},
			changes: []change{ping(pings.Success, time.Minute)},
			steps:   []gate.Step{{After: 15 * time.Minute, Channels: []uuid.UUID{ops.ID}}, {After: 150 * time.Minute, Channels: []uuid.UUID{all.ID}}}, want: []string{
				"If it does not report, Ops is notified at 13:24, 15 min after it goes down, unless somebody acknowledges it before. After that, Pager at 15:39.",
				"23 12:59 A run is expected.",
				"23 13:09 The check goes down: nothing was reported within the grace of 10 min.",
				"23 13:09 The alert is raised. The escalation policy notifies no one at once.",
				"23 13:24 Unless somebody has acknowledged it, the alert is sent to Ops.",
				"23 15:09 Reminder 1 is sent; another follows every 2 h.",
				"23 15:39 Unless somebody has acknowledged it, the alert is sent to Pager.",
				"23 17:09 Reminder 2 is sent; another follows every 2 h.",
				"Ops: after 15 min: notified, last alert sent yesterday 12:00",
				"Pager via All: after 2 h 30 min: failing since 11:00: no credit, last alert failed at 11:00",
				"Log via All: after 2 h 30 min: sends recovery alerts only, no alert yet",
			}},
		"a policy for a check without integrations": {spec: with(hourly, func(s *checks.Spec) { s.QuietHours = new("13:15-14:00") }),
			changes: []change{ping(pings.Success, time.Minute)},
			steps:   []gate.Step{{Channels: []uuid.UUID{ops.ID}}, {After: 15 * time.Minute, Channels: []uuid.UUID{pager.ID}}}, want: []string{
				"If it does not report, Ops is notified at 13:09. Unless somebody acknowledges it, Pager at 14:09.",
				"23 12:59 A run is expected.",
				"23 13:09 The check goes down: nothing was reported within the grace of 10 min.",
				"23 13:09 The alert is sent to Ops.",
				"23 14:09 Unless somebody has acknowledged it, the alert is sent to Pager.",
				"Ops: notified, last alert sent yesterday 12:00",
				"Pager: after 15 min: failing since 11:00: no credit, last alert failed at 11:00",
			}},
		"a policy for an outage that is going on": {spec: hourly, to: []channels.Channel{ops}, changes: []change{ping(pings.Failure, time.Minute)},
			waiting: []gate.Event{{At: noon.Add(-time.Minute), Channel: pager.ID}},
			steps:   []gate.Step{{After: 15 * time.Minute, Channels: []uuid.UUID{pager.ID}}}, want: []string{
				"It is down already. Unless somebody acknowledges it, Pager is notified at 12:14.",
				"23 12:14 Unless somebody has acknowledged it, the alert is sent to Pager.",
				"Ops: notified, last alert sent yesterday 12:00",
				"Pager: after 15 min: failing since 11:00: no credit, last alert failed at 11:00",
			}},
		"an alert that waits for a window": {spec: hourly, to: []channels.Channel{ops}, changes: []change{ping(pings.Failure, time.Minute)},
			waiting: []gate.Event{{At: noon.Add(-time.Minute), Channel: ops.ID}}, windows: []gate.Window{{Kind: gate.Snooze, Start: noon.Add(-time.Hour), End: noon.Add(time.Hour)}},
			want: []string{
				"It is down already. The alert to Ops waits, and is sent at 13:00.",
				"23 13:00 The alert is sent to Ops.",
				"Ops: notified, last alert sent yesterday 12:00",
			}},
		"an alert that waits for a parent": {spec: hourly, to: []channels.Channel{ops}, changes: []change{ping(pings.Failure, time.Minute)},
			waiting: []gate.Event{{At: noon.Add(-time.Minute), Channel: ops.ID}}, parents: []gate.Parent{{Name: "Dump", Down: true}},
			want: []string{
				"It is down already. The alert to Ops waits as long as Dump is down.",
				"23 12:00 The alert to Ops waits as long as Dump is down.",
				"Ops: notified, last alert sent yesterday 12:00",
			}},
		"alerts of two steps that wait for a parent": {spec: hourly, to: []channels.Channel{ops}, changes: []change{ping(pings.Failure, time.Minute)},
			waiting: []gate.Event{{At: noon.Add(-time.Minute), Channel: ops.ID}, {At: noon.Add(-time.Minute), Channel: pager.ID}}, parents: []gate.Parent{{Name: "Dump", Down: true}},
			steps: []gate.Step{{Channels: []uuid.UUID{ops.ID}}, {After: 15 * time.Minute, Channels: []uuid.UUID{pager.ID}}}, want: []string{
				"It is down already. The alert to Ops and Pager waits as long as Dump is down.",
				"23 12:00 The alert to Ops and Pager waits as long as Dump is down.",
				"Ops: notified, last alert sent yesterday 12:00",
				"Pager: after 15 min: failing since 11:00: no credit, last alert failed at 11:00",
			}},
		"maintenance, quiet hours at its end, and steps that count from then": {
			spec: with(hourly, func(s *checks.Spec) {
				s.QuietHours, s.RepeatEvery, s.Tags = new("13:50-14:30"), new(40*time.Minute), []string{"db"}
			}),
			to: []channels.Channel{ops}, changes: []change{ping(pings.Success, time.Minute)},
			steps: []gate.Step{{Channels: []uuid.UUID{ops.ID}}, {After: 15 * time.Minute, Channels: []uuid.UUID{pager.ID}}},
			windows: []gate.Window{{Kind: gate.Maintenance, Schedule: "0 13 * * *", Duration: time.Hour, TZ: "UTC", Start: noon, Tags: []string{"db"}, Note: "disks"},
				{Kind: gate.Snooze, Start: noon, End: noon.AddDate(0, 0, 1), Tags: []string{"web"}}}, want: []string{
				"If it does not report, Ops is notified at 14:30, 1 h 21 min after it goes down. Unless somebody acknowledges it, Pager at 14:45.",
				"23 12:59 A run is expected.",
				"23 13:09 The check goes down: nothing was reported within the grace of 10 min.",
				"23 13:09 Maintenance (disks) holds the alert until 14:00.",
				"23 13:49 Maintenance (disks) cancels the reminder.",
				"23 14:00 Quiet hours hold the alert until 14:30.",
				"23 14:29 Quiet hours cancel the reminder; the next one is due at 15:10.",
				"23 14:30 The alert is sent to Ops.",
				"23 14:45 Unless somebody has acknowledged it, the alert is sent to Pager.",
				"Ops: notified, last alert sent yesterday 12:00",
				"Pager: after 15 min: failing since 11:00: no credit, last alert failed at 11:00",
			}},
		"parents": {spec: hourly, to: []channels.Channel{ops}, changes: []change{ping(pings.Success, 65*time.Minute)}, parents: []gate.Parent{{Name: "Dump"}, {Name: "Disk"}}, want: []string{
			"If it does not report, Ops is notified at 12:05.",
			"23 11:55 A run is expected.",
			"23 12:05 The check goes down: nothing was reported within the grace of 10 min.",
			"23 12:05 The alert is sent to Ops, unless Dump or Disk is down or late then: it waits for that.",
			"Ops: notified, last alert sent yesterday 12:00",
		}},
		"a parent that is down": {spec: hourly, to: []channels.Channel{ops}, changes: []change{ping(pings.Success, 65*time.Minute)}, parents: []gate.Parent{{Name: "Dump", Down: true}, {Name: "Disk"}}, want: []string{
			"If it does not report, Ops is notified at 12:05. The alert waits as long as Dump is down.",
			"23 11:55 A run is expected.",
			"23 12:05 The check goes down: nothing was reported within the grace of 10 min.",
			"23 12:05 The alert is sent to Ops, but not as long as Dump is down.",
			"Ops: notified, last alert sent yesterday 12:00",
		}},
		"record-only": {spec: with(hourly, func(s *checks.Spec) { s.RecordOnly = new(true) }), to: []channels.Channel{ops}, changes: []change{ping(pings.Success, 65*time.Minute)}, want: []string{
			"If it does not report, no one is notified: record-only.",
			"23 11:55 A run is expected.",
			"23 12:05 The check goes down: nothing was reported within the grace of 10 min.",
			"23 12:05 No alert is raised: the check is record-only.",
		}},
		"late": {spec: hourly, to: []channels.Channel{ops}, changes: []change{ping(pings.Success, 65*time.Minute)}, want: []string{
			"If it does not report, Ops is notified at 12:05.",
			"23 11:55 A run is expected.",
			"23 12:05 The check goes down: nothing was reported within the grace of 10 min.",
			"23 12:05 The alert is sent to Ops.",
			"Ops: notified, last alert sent yesterday 12:00",
		}},
		"a run in progress": {spec: hourly, to: []channels.Channel{ops}, changes: []change{ping(pings.Success, 30*time.Minute), ping(pings.Start, 5*time.Minute)}, want: []string{
			"If it does not report, Ops is notified at 12:05.",
			"23 12:05 The check goes down: a run in progress has taken longer than 10 min.",
			"23 12:05 The alert is sent to Ops.",
			"Ops: notified, last alert sent yesterday 12:00",
		}},
		"two runs in progress": {spec: with(hourly, func(s *checks.Spec) { s.MaxRuntime, s.AlertAfter = new(20*time.Minute), new(2) }), to: []channels.Channel{ops},
			changes: []change{ping(pings.Success, 30*time.Minute), run(1, 15*time.Minute), run(2, 5*time.Minute)}, want: []string{
				"If it does not report, Ops is notified at 12:15, 10 min after it goes down.",
				"23 12:05 The check goes down: a run in progress has taken longer than 20 min. This is failure 1 of 2 in a row, so no alert is sent yet.",
				"23 12:15 Failure 2 of 2 in a row.",
				"23 12:15 The alert is sent to Ops.",
				"Ops: notified, last alert sent yesterday 12:00",
			}},
		"nobody": {spec: hourly, changes: []change{ping(pings.Success, 0)}, want: []string{
			"If it does not report, no one is notified: no integrations.",
			"23 13:00 A run is expected.",
			"23 13:10 The check goes down: nothing was reported within the grace of 10 min.",
			"23 13:10 The alert is raised and reaches no one.",
		}},
		"three ways to reach nobody": {spec: hourly, to: []channels.Channel{log, empty, pager}, lacks: channels.SMS, changes: []change{ping(pings.Success, 0)}, want: []string{
			"If it does not report, no one is notified: Pager cannot be reached: no modem; Log sends recovery alerts only; Nobody is a group without members.",
			"23 13:00 A run is expected.",
			"23 13:10 The check goes down: nothing was reported within the grace of 10 min.",
			"23 13:10 The alert is raised and reaches no one.",
			"Pager: cannot be reached: no modem, last alert failed at 11:00",
			"Log: sends recovery alerts only, no alert yet",
			"Nobody: is a group without members, no alert yet",
		}},
		"new": {spec: hourly, to: []channels.Channel{ops}, want: []string{
			"It waits for its first ping, so nothing would happen. After that: if it does not report, Ops is notified at 13:10.",
			"23 13:00 A run is expected.",
			"23 13:10 The check goes down: nothing was reported within the grace of 10 min.",
			"23 13:10 The alert is sent to Ops.",
			"Ops: notified, last alert sent yesterday 12:00",
		}},
		"paused": {spec: with(hourly, func(s *checks.Spec) { s.ManualResume = new(true) }), to: []channels.Channel{ops}, changes: []change{ping(pings.Success, 0), pause}, failure: true, want: []string{
			"It is paused, so nothing would happen. Once it is resumed: if it fails now, Ops is notified at 12:00.",
			"23 12:00 The job reports a failure.",
			"23 12:00 The check goes down: the job reported a failure.",
			"23 12:00 The alert is sent to Ops.",
			"Ops: notified, last alert sent yesterday 12:00",
		}},
		"down, with reminders": {spec: with(hourly, func(s *checks.Spec) { s.RepeatEvery, s.QuietHours = new(2*time.Hour), new("15:00-17:00") }), to: []channels.Channel{ops},
			changes: []change{ping(pings.Failure, time.Hour)}, want: []string{
				"It is down already. The next reminder goes to Ops at 13:00.",
				"23 13:00 Reminder 1 is sent; another follows every 2 h.",
				"23 15:00 Quiet hours cancel the reminder; the next one is due at 19:00.",
				"Ops: notified, last alert sent yesterday 12:00",
			}},
		"many failures in a row": {spec: with(hourly, func(s *checks.Spec) { s.AlertAfter = new(9) }), to: []channels.Channel{ops}, changes: []change{ping(pings.Failure, time.Minute)}, failure: true, want: []string{
			"If it fails now, Ops is notified at 19:10.",
			"23 12:00 The job reports a failure.",
			"23 12:00 Failure 2 of 9 in a row.",
			"23 19:10 Failures 3 to 9 of 9 in a row.",
			"23 19:10 The alert is sent to Ops.",
			"Ops: notified, last alert sent yesterday 12:00",
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := checks.New(uuid.New(), tt.spec, noon.Add(-48*time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			for _, ch := range tt.to {
				c.Channels = append(c.Channels, ch.ID)
			}
			for _, change := range tt.changes {
				c = change(c)
			}
			outcomes := map[uuid.UUID]verdict.Outcome{ops.ID: {Delivered: noon.Add(-24 * time.Hour)}}
			if tt.lacks == channels.SMS {
				outcomes[pager.ID] = verdict.Outcome{Undeliverable: errors.New("no modem")}
			}
			got := rehearsed(verdict.RehearseInput{
				Check: c, Now: noon, Failure: tt.failure, Channels: list,
				Reach: verdict.Reaches(list, outcomes, tt.steps), Windows: tt.windows, Parents: tt.parents, Waiting: tt.waiting,
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
