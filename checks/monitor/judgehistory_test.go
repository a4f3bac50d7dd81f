package monitor_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// judgeTick is how often the judge looks at the clock, and a server at what is due.
	judgeTick = 30 * time.Second
	// judgeTicks is how long a history takes, and lastTicks how long everybody has to learn the truth when it is over.
	judgeTicks, lastTicks = 360, 60
)

// deed is something that people or jobs do in a history.
type deed struct {
	at   time.Duration // since the beginning
	kind string
	n    [4]int // what it is about; any numbers have a meaning
}

// kinds are the deeds that there are, and how often a history with them has them. Each does a deed and says what it was.
var kinds = []struct {
	name   string
	weight int
	do     func(w *world, n [4]int) string
}{
	{"fail", 0, func(w *world, n [4]int) string { return w.ping(w.job(n[0]), pings.Failure) }},
	{"success", 0, func(w *world, n [4]int) string { return w.ping(w.job(n[0]), pings.Success) }},
	{"both", 1, func(w *world, n [4]int) string { // down and up, or up and down, before anybody looks
		return w.ping(w.job(n[0]), pings.Failure) + ", " + w.ping(w.job(n[0]), pings.Success)
	}},
	{"away", 4, (*world).receive},
	{"back", 4, func(w *world, n [4]int) string { return w.receive([4]int{n[0], n[1], 0}) }},
	{"window", 3, (*world).window},
	{"end", 2, (*world).endWindow},
	{"ack", 3, (*world).acknowledge},
	{"unack", 1, (*world).unacknowledge},
	{"policy", 3, (*world).policy},
	{"repeat", 3, func(w *world, n [4]int) string {
		return w.change(w.job(n[0]), checks.Spec{RepeatEvery: new([]time.Duration{0, 10, 20, 45}[n[1]%4] * time.Minute)})
	}},
	{"parent", 3, func(w *world, n [4]int) string { return w.follow(w.job(n[0]), n[1]) }},
	{"assign", 3, (*world).assign},
	{"group", 1, (*world).group},
	{"record", 1, func(w *world, n [4]int) string {
		return w.change(w.job(n[0]), checks.Spec{RecordOnly: new(n[1]%3 == 0)})
	}},
	{"after", 1, func(w *world, n [4]int) string {
		return w.change(w.job(n[0]), checks.Spec{AlertAfter: new(1 + n[1]%3)})
	}},
	{"quiet", 2, (*world).quiet},
	{"tags", 1, func(w *world, n [4]int) string {
		return w.change(w.job(n[0]), checks.Spec{Tags: [][]string{{}, {"x"}, {"y"}, {"x", "y"}}[n[1]%4]})
	}},
	{"pause", 2, (*world).pause},
	{"undo", 2, (*world).undo},
	{"move", 1, (*world).move},
	{"notify", 1, (*world).notify},
	{"storm", 1, (*world).storm},
	{"retry", 2, (*world).retry},
	{"unplug", 1, (*world).unplug},
}

// draw returns the history of a seed. It has a few kinds of deeds besides failures and successes, so that they meet often.
func draw(seed uint64) (list []deed) {
	r := rand.New(rand.NewPCG(seed, 54))
	var bag []string
	for range 3 + r.IntN(5) {
		k := kinds[2+r.IntN(len(kinds)-2)]
		bag = append(bag, slices.Repeat([]string{k.name}, k.weight)...)
		bag = append(bag, map[string]string{"away": "back", "window": "end", "ack": "unack", "pause": "undo"}[k.name])
	}
	bag = slices.DeleteFunc(bag, func(name string) bool { return name == "" })
	add := func(at time.Duration, kind string) {
		list = append(list, deed{at, kind, [4]int{r.IntN(1 << 16), r.IntN(1 << 16), r.IntN(1 << 16), r.IntN(1 << 16)}})
	}
	for _, kind := range bag { // some of the rules hold from the beginning
		if r.IntN(3) == 0 && !slices.Contains([]string{"both", "ack", "unack", "pause", "undo", "move"}, kind) {
			add(0, kind)
		}
	}
	for range 10 + r.IntN(40) {
		at := time.Duration(1+r.IntN(judgeTicks-1))*judgeTick + time.Duration(1+r.IntN(28))*time.Second
		if len(list) > 0 && r.IntN(3) == 0 { // soon after the deed before
			at = min(max(list[len(list)-1].at, judgeTick)+time.Duration(r.IntN(300))*time.Second, judgeTicks*judgeTick)
		}
		switch {
		case len(bag) > 0 && r.IntN(5) > 2:
			add(at, bag[r.IntN(len(bag))])
		case r.IntN(5) > 2:
			add(at, "success")
		default:
			add(at, "fail")
		}
	}
	slices.SortStableFunc(list, func(a, b deed) int { return int(a.at - b.at) })
	return list
}

func (w *world) job(n int) *chore { return w.jobs[n%len(w.jobs)] }

// ping lets a job report.
func (w *world) ping(j *chore, kind pings.Kind) string {
	w.touch()
	_, err := w.mon().Ping(w.ctx, j.id, pings.Signal{Kind: kind})
	must(w.t, err)
	now := w.now()
	wasLate := j.late(now)
	j.lastPing, j.expected, j.undo = now, now, nil
	if kind == pings.Success {
		if j.status != "up" || wasLate {
			j.cameUp, j.cameUpTold = now, j.status == "down" && w.sureOf(j)
		}
		if n := len(j.outages); n > 0 && j.outages[n-1].up.IsZero() { // it was paused
			j.outages[n-1].up = now
		}
		if j.status != "up" {
			j.ups = append(j.ups, now)
		}
		j.status, j.ackUntil = "up", time.Time{}
	} else if j.status == "down" {
		j.outage().failures++
	} else {
		j.goDown(now, true)
	}
	w.touch()
	return j.name + " " + string(kind)
}

// receive changes how a receiver answers.
func (w *world) receive(n [4]int) string {
	d := w.desks[1+n[0]%(len(w.desks)-1)]
	to := d.to[n[1]%len(d.to)]
	d.mu.Lock()
	defer d.mu.Unlock()
	if to.mode = []string{"ok", "away", "lost", "refuse", "away", "hang"}[n[2]%6]; n[3]%2 == 0 {
		for _, other := range d.to {
			other.mode = to.mode
		}
		return d.name + " is " + to.mode
	}
	return d.name + "/" + to.name + " is " + to.mode
}

func (w *world) window(n [4]int) string {
	now := w.now()
	v := gate.Window{Kind: gate.Maintenance, Start: now.Add(time.Duration(n[1]%31-20) * time.Minute), Note: "window"}
	v.End = now.Add(time.Duration(1+n[2]%60) * time.Minute)
	if v.End.Before(v.Start.Add(time.Minute)) {
		v.End = v.Start.Add(time.Minute)
	}
	switch n[0] % 4 {
	case 0:
		v.Tags = []string{"x"}
	case 1, 2:
		if j := w.job(n[3]); j.project == w.projects[0] {
			v.Checks = append(v.Checks, j.id)
		}
	}
	if n[3]%3 == 0 {
		v.Kind, v.Start = gate.Snooze, now
	}
	v, err := w.mon().Project(w.projects[0]).AddWindow(w.ctx, v)
	must(w.t, err)
	w.windows = append(w.windows, v)
	return fmt.Sprintf("%s from %s to %s of checks %s, tags %v", v.Kind, clockText(v.Start), clockText(v.End), w.names(v), v.Tags)
}

func (w *world) endWindow(n [4]int) string {
	if len(w.windows) == 0 {
		return ""
	}
	i := n[0] % len(w.windows)
	v, err := w.mon().Project(w.projects[0]).EndWindow(w.ctx, w.windows[i].ID)
	if err != nil { // nothing had occurred, and it was ended before
		return ""
	}
	w.windows[i] = v
	return fmt.Sprintf("the window %d ends", i)
}

func (w *world) acknowledge(n [4]int) string {
	j := w.job(n[0])
	spec := checks.AckSpec{By: "Anna", For: []time.Duration{0, 5, 15, 30}[n[1]%4] * time.Minute}
	w.settle()
	_, err := w.mon().Project(j.project).Acknowledge(w.ctx, j.id, spec)
	if (err == nil) != (j.status == "down") {
		w.t.Errorf("%s is %s, and to acknowledge it returns %v", j.name, j.status, err)
	}
	if err != nil {
		return ""
	}
	j.ackSeen = true
	if j.ackUntil = w.now().Add(spec.For); spec.For == 0 {
		j.ackUntil = w.now().Add(1000 * time.Hour)
	}
	return fmt.Sprintf("%s is acknowledged for %v", j.name, spec.For)
}

func (w *world) unacknowledge(n [4]int) string {
	j := w.job(n[0])
	_, err := w.mon().Project(j.project).Unacknowledge(w.ctx, j.id)
	must(w.t, err)
	j.ackUntil = time.Time{}
	return j.name + " is given back"
}

// policy sets the escalation policy: each integration has no step or one of three.
func (w *world) policy(n [4]int) string {
	steps := make(map[*target]time.Duration)
	for i, d := range w.desks {
		if d.project == w.projects[0] {
			if k := (n[0] >> (2 * i)) % 4; n[1]%4 > 0 && k > 0 {
				steps[d] = []time.Duration{0, 5, 15}[k-1] * time.Minute
			}
		}
	}
	return w.setPolicy(steps)
}

func (w *world) setPolicy(steps map[*target]time.Duration) string {
	var list []gate.Step
	var words []string
	for _, after := range []time.Duration{0, 5 * time.Minute, 15 * time.Minute} {
		step := gate.Step{After: after}
		for _, d := range w.desks {
			if a, found := steps[d]; found && a == after {
				step.Channels = append(step.Channels, d.id)
				words = append(words, fmt.Sprintf("%s after %v", d.name, after))
			}
		}
		if len(step.Channels) > 0 {
			list = append(list, step)
		}
	}
	must(w.t, w.mon().Project(w.projects[0]).SetEscalation(w.ctx, list))
	w.steps = steps
	return "the policy is " + strings.Join(words, ", ")
}

// change changes settings of a check, and notes them.
func (w *world) change(j *chore, spec checks.Spec) string {
	w.settle()
	_, err := w.mon().Project(j.project).Update(w.ctx, j.id, spec)
	must(w.t, err)
	text := j.name
	if spec.RepeatEvery != nil {
		j.repeat, j.settings = *spec.RepeatEvery, w.now()
		text += fmt.Sprintf(" repeats every %v", j.repeat)
	}
	if spec.RecordOnly != nil {
		if j.record && !*spec.RecordOnly && j.status == "down" { // alerted as new, because what was raised before may have been dropped, or still leave
			j.outage().roundAt, j.outage().ran = w.now().Add(lateTicks*judgeTick), 0
		}
		j.record = *spec.RecordOnly
		text += fmt.Sprintf(" records only: %v", j.record)
	}
	if spec.AlertAfter != nil {
		j.alertAfter = *spec.AlertAfter
		text += fmt.Sprintf(" alerts after %d", j.alertAfter)
	}
	if spec.Tags != nil {
		j.tags = spec.Tags
		text += fmt.Sprintf(" has tags %v", j.tags)
	}
	if spec.QuietHours != nil {
		if j.status == "down" { // the clock stands in quiet hours that were before, too: nobody keeps when they were set
			o := j.outage()
			o.streak, o.streakAck, o.ran = 0, 0, max(o.ran, int(w.now().Sub(o.roundAt)/judgeTick))
		}
		text += " has the quiet hours " + *spec.QuietHours
	}
	if spec.Channels != nil {
		text += " has the integrations " + *spec.Channels
	}
	if spec.After != nil {
		text += " follows " + *spec.After
	}
	w.settle()
	return text
}

// follow makes a check follow the one before it, so that there is no circle, or none.
func (w *world) follow(j *chore, n int) string {
	i := slices.Index(w.jobs, j)
	if i == 0 || n%4 == 0 || j.project != w.jobs[i-1].project {
		j.parent = nil
		return w.change(j, checks.Spec{After: new("")})
	}
	text := w.change(j, checks.Spec{After: new(w.jobs[i-1].name)})
	j.parent = w.jobs[i-1]
	return text
}

// assign adds an integration to a check, or takes it away.
func (w *world) assign(n [4]int) string {
	j, d := w.job(n[0]), w.desks[n[1]%len(w.desks)]
	if j.project != d.project {
		return ""
	}
	if i := slices.Index(j.desks, d); i >= 0 {
		j.desks = slices.Delete(j.desks, i, i+1)
	} else {
		j.desks = append(j.desks, d)
	}
	return w.setDesks(j)
}

func (w *world) setDesks(j *chore) string {
	var ids, words []string
	for _, d := range j.desks {
		ids, words = append(ids, d.id.String()), append(words, d.name)
	}
	w.change(j, checks.Spec{Channels: new(strings.Join(ids, ","))})
	return j.name + " has the integrations " + strings.Join(words, ", ")
}

// group changes the members of the group.
func (w *world) group(n [4]int) string {
	g := w.desks[0]
	g.members = nil
	var names []string
	for i, d := range w.desks[1:] {
		if d.project == g.project && n[0]>>i&1 == 1 || len(names) == 0 && i == 0 {
			g.members, names = append(g.members, d), append(names, d.name)
		}
	}
	_, err := w.mon().Project(g.project).UpdateChannel(w.ctx, g.id, func(c channels.Channel) (channels.Channel, error) {
		c.Settings["channels"] = strings.Join(names, ",")
		return c, nil
	})
	must(w.t, err)
	return "the group has " + strings.Join(names, ", ")
}

func (w *world) quiet(n [4]int) string {
	j := w.job(n[0])
	if j.quiet = nil; n[1]%4 == 0 {
		return w.change(j, checks.Spec{QuietHours: new("")})
	}
	from := noon.Add(time.Duration(n[2]%150) * time.Minute)
	j.quiet = &[2]time.Time{from, from.Add(time.Duration(10+n[3]%60) * time.Minute)}
	return w.change(j, checks.Spec{QuietHours: new(j.quiet[0].Format("15:04") + "-" + j.quiet[1].Format("15:04"))})
}

func (w *world) pause(n [4]int) string {
	j := w.job(n[0])
	w.touch()
	before, err := w.mon().Project(j.project).Check(w.ctx, j.id)
	must(w.t, err)
	after, err := w.mon().Project(j.project).Pause(w.ctx, j.id)
	must(w.t, err)
	if j.status == "paused" {
		return ""
	}
	settled, _ := before.Check.Settle(w.now())
	old, begin := *j, w.now()
	j.undo = func() string {
		_, err := w.mon().Project(j.project).Restore(w.ctx, j.id, settled.State, after.Check.StoredSince)
		if err != nil {
			return ""
		}
		j.status, j.ackUntil, j.lastPing, j.expected, j.undo = old.status, old.ackUntil, old.lastPing, old.expected, nil
		w.forget(func(key personKey) bool { return key.chore == j })
		if j.status == "down" { // its clock may have gone on
			j.outage().ran += int(w.now().Sub(begin)/judgeTick) + 1
		}
		return "the pause of " + j.name + " is undone"
	}
	j.status, j.ackUntil = "paused", time.Time{}
	return j.name + " is paused"
}

func (w *world) undo(n [4]int) string {
	j := w.job(n[0])
	if j.undo == nil || j.status != "paused" {
		return ""
	}
	return j.undo()
}

// move moves a check to the other project, which has other integrations.
func (w *world) move(n [4]int) string {
	j := w.job(n[0])
	w.settle()
	to := w.other()
	if j.project == to {
		to = w.projects[0]
	}
	_, err := w.mon().Project(j.project).Transfer(w.ctx, j.id, to)
	must(w.t, err)
	j.project, j.desks, j.parent = to, nil, nil
	if j.status == "down" { // the policy of the other project begins
		o := j.outage()
		o.streak, o.streakAck, o.ran = 0, 0, 0
	}
	w.forget(func(key personKey) bool { return key.chore == j })
	w.windows = slices.DeleteFunc(w.windows, func(v gate.Window) bool { return slices.Equal(v.Checks, []uuid.UUID{j.id}) }) // it was about nothing else
	for _, d := range w.desks {
		if d.project == to {
			j.desks = append(j.desks, d)
		}
	}
	return fmt.Sprintf("%s moves to project %d", j.name, slices.Index(w.projects, to))
}

// notify makes an integration hear of outages, of recoveries or of both.
func (w *world) notify(n [4]int) string {
	d := w.desks[1+n[0]%(len(w.desks)-1)]
	d.only = []string{"", "down", "up"}[n[1]%3]
	w.forget(func(key personKey) bool { return key.target == d })
	_, err := w.mon().Project(d.project).UpdateChannel(w.ctx, d.id, func(c channels.Channel) (channels.Channel, error) {
		c.Settings[channels.NotifySetting] = d.only
		return c, nil
	})
	must(w.t, err)
	return d.name + " only hears: " + d.only
}

// retry gives what was given up another chance.
func (w *world) retry([4]int) string {
	n, err := w.mon().Project(w.projects[0]).RetryFailed(w.ctx)
	must(w.t, err)
	w.retried = w.now()
	return fmt.Sprintf("%d failed deliveries are sent again", n)
}

// unplug removes an integration and adds another of its kind.
func (w *world) unplug(n [4]int) string {
	i := 1 + n[0]%5
	d := w.desks[i]
	must(w.t, w.mon().Project(d.project).DeleteChannel(w.ctx, d.id))
	w.addDesk(d.project, d.name+"+", d.kind, len(d.to) > 1)
	last := len(w.desks) - 1
	w.desks[i], w.desks = w.desks[last], w.desks[:last]
	gone := func(other *target) bool { return other == d }
	maps.DeleteFunc(w.persons, func(key personKey, _ *person) bool { return gone(key.target) })
	for _, j := range w.jobs {
		j.desks, j.told = slices.DeleteFunc(j.desks, gone), j.told && w.sureOf(j)
	}
	w.desks[0].members = slices.DeleteFunc(w.desks[0].members, gone)
	delete(w.steps, d)
	return d.name + " is deleted, " + w.desks[i].name + " is there"
}

// storm sets when alerts leave together, and gives all checks the integration whose kind combines them. Then all of them may fail or succeed.
func (w *world) storm(n [4]int) string {
	w.stormChecks = []int{0, 2, 3}[n[0]%3]
	_, err := w.mon().Projects().Update(w.ctx, w.projects[0], checks.ProjectUpdate{StormChecks: new(w.stormChecks), StormWindow: new(time.Minute)})
	must(w.t, err)
	text := fmt.Sprintf("storms have %d checks", w.stormChecks)
	digest := w.desks[slices.IndexFunc(w.desks, func(d *target) bool { return d.kind == "digest" })]
	for _, j := range w.jobs {
		if j.project == digest.project && !slices.Contains(j.desks, digest) {
			j.desks = append(j.desks, digest)
			text += ", " + w.setDesks(j)
		}
	}
	for _, j := range w.jobs {
		if kind := []pings.Kind{"", pings.Failure, pings.Success}[n[1]%3]; kind != "" && w.now().After(noon) {
			text += ", " + w.ping(j, kind)
		}
	}
	return text
}
