package monitor_test

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/gate"
)

// This file has what is true in a world, as the history has made it: which checks are down, what may and what must keep their alerts
// back, and who is concerned.

// chore is a check as the history has made it, for the judge.
type chore struct {
	name    string
	id      uuid.UUID
	project uuid.UUID

	timeout, grace, repeat time.Duration
	alertAfter             int
	record                 bool
	quiet                  *[2]time.Time
	tags                   []string
	desks                  []*target
	parent                 *chore

	status             string // up, down or paused
	lastPing, expected time.Time
	ackUntil           time.Time
	cameUp, troubled   time.Time // troubled is when it was last late, down or paused
	cameUpTold         bool
	undo               func() string
	outages            []*failure
	ups                []time.Time // when it came up

	told     bool      // somebody knew of its outage at the last look, and the sender knew that
	ackSeen  bool      // it was acknowledged at the last look, or has been since
	settings time.Time // of the last change of what its people get
}

// failure is a time down.
type failure struct {
	n         int
	down, up  time.Time
	failures  int
	reported  bool
	reached   bool // alert_after
	reachedAt time.Time

	streak, streakAck int // ticks in a row in which nothing kept alerts back, and nobody had acknowledged it
	ran               int // the most ticks that its clock may have run in this round
	roundAt           time.Time
	returned          time.Time // when its last acknowledgement ended, if nothing else kept alerts back then
	grouped           bool      // the group was told of it, or an alert waits for that, which reaches those who are its members then
}

func (j *chore) outage() *failure { return j.outages[len(j.outages)-1] }

func (j *chore) late(now time.Time) bool {
	return j.status == "up" && !now.Before(j.lastPing.Add(j.timeout)) && now.Before(j.lastPing.Add(j.timeout+j.grace))
}

func (j *chore) acked(now time.Time) bool { return j.status == "down" && now.Before(j.ackUntil) }

func (j *chore) goDown(at time.Time, reported bool) {
	j.status, j.expected, j.ackUntil, j.told, j.ackSeen = "down", at, time.Time{}, false, false
	if !reported {
		j.expected = at.Add(-j.grace)
	}
	j.outages = append(j.outages, &failure{n: len(j.outages), down: at, failures: 1, reported: reported, roundAt: at})
}

// settle notes what the clock has done.
func (w *world) settle() {
	now := w.now()
	for _, j := range w.jobs {
		if deadline := j.lastPing.Add(j.timeout + j.grace); j.status == "up" && !now.Before(deadline) {
			j.goDown(deadline, false)
		}
		if j.status == "down" {
			for o := j.outage(); !now.Before(j.expected.Add(j.timeout + j.grace)); j.expected = j.expected.Add(j.timeout) {
				o.failures++
			}
			if o := j.outage(); o.failures >= j.alertAfter && !o.reached {
				o.reached, o.reachedAt = true, now
			}
		}
		if j.status != "up" || j.late(now) {
			j.troubled = now
		}
	}
}

// touch notes, after a deed, what may keep alerts back, however shortly.
func (w *world) touch() {
	w.settle()
	for _, j := range w.jobs {
		// What waits for the group when the check comes up reaches those who are its members then.
		if group := w.desks[0]; j.status == "down" || len(j.outages) > 0 && w.now().Before(j.outage().up.Add(lateTicks*judgeTick)) {
			o := j.outage()
			_, named := w.steps[group]
			o.grouped = o.grouped || group.project == j.project && (named || slices.Contains(j.desks, group))
			for _, d := range w.desks[1:] {
				for _, r := range d.to {
					if wanted, _ := w.wanted(j, d); wanted || o.grouped && slices.Contains(group.members, d) {
						w.person(j, r).everWanted[o.n] = true
					}
				}
			}
		}
	}
}

// covered reports whether a window covers a check.
func (w *world) covered(j *chore, now time.Time) bool {
	return j.project == w.projects[0] && slices.ContainsFunc(w.windows, func(v gate.Window) bool {
		all := len(v.Checks)+len(v.Tags) == 0
		own := slices.Contains(v.Checks, j.id) || slices.ContainsFunc(v.Tags, func(tag string) bool { return slices.Contains(j.tags, tag) })
		return (all || own) && !now.Before(v.Start) && now.Before(v.End)
	})
}

func (j *chore) isQuiet(now time.Time) bool {
	return j.quiet != nil && !now.Before(j.quiet[0]) && now.Before(j.quiet[1])
}

func (j *chore) follows() *chore {
	if j.parent != nil && j.parent.project == j.project {
		return j.parent
	}
	return nil
}

// mayHold returns what may keep the alert about a check that is down back.
func (w *world) mayHold(j *chore, now time.Time, depth int) string {
	o := j.outage()
	switch {
	case j.record:
		return "record only"
	case !o.reached, o.failures < j.alertAfter:
		return "alert after"
	case w.covered(j, now):
		return "window"
	case j.isQuiet(now):
		return "quiet hours"
	}
	return w.parentMay(j, o, now, depth)
}

func (w *world) parentMay(j *chore, o *failure, now time.Time, depth int) string {
	p := j.follows()
	if p == nil || p.status == "paused" || depth > 3 {
		return ""
	}
	grace := min(max(j.grace, judgeTick), time.Hour)
	switch {
	case p.status == "down" && (w.toldOf(p) || p.acked(now) || w.covered(p, now) || w.parentMay(p, p.outage(), now, depth+1) != "" || w.mayTell(p, now)):
		return "parent"
	case p.late(now):
		return "late parent"
	case p.status == "up" && now.Before(p.troubled.Add(grace+2*judgeTick)) && !(o.reported && o.down.After(p.cameUp)):
		return "parent came up"
	}
	return ""
}

// mayTell reports whether somebody may still be told soon that a parent is down.
func (w *world) mayTell(p *chore, now time.Time) bool {
	soon := func(ticks int) bool { return time.Duration(ticks)*judgeTick < 8*time.Minute }
	if soon(p.outage().streak) {
		return true
	}
	for _, d := range w.desks[1:] {
		assigned := func(r *recipient) bool { return soon(w.person(p, r).wanted) } // since then
		if wanted, after := w.wanted(p, d); wanted && (after > 0 || slices.ContainsFunc(d.to, assigned)) {
			return true
		}
	}
	return false
}

// toldOf reports whether somebody knows of the outage of a check.
func (w *world) toldOf(j *chore) bool {
	for key, p := range w.persons {
		if key.chore == j && p.told[j.outage().n] {
			return true
		}
	}
	return false
}

// sureOf reports whether the sender knows that somebody knows of the outage of a check.
func (w *world) sureOf(j *chore) bool {
	for key, p := range w.persons {
		if key.chore == j && p.sure[j.outage().n] {
			return true
		}
	}
	return false
}

// mustHold returns what keeps the alert about an outage back beyond doubt.
func (w *world) mustHold(j *chore, o *failure, now time.Time) string {
	switch {
	case j.record:
		return "record only"
	case w.covered(j, now):
		return "window"
	case j.isQuiet(now):
		return "quiet hours"
	case !o.up.IsZero():
		return ""
	case !o.reached:
		return "alert after"
	}
	p := j.follows()
	if p == nil || len(w.projects) > 1 { // what was told goes with a move
		return ""
	}
	if p.status == "down" && p.told {
		return "parent"
	}
	if p.status == "up" && p.cameUpTold && !o.reachedAt.After(p.cameUp) && now.Before(p.cameUp.Add(min(max(j.grace, judgeTick), time.Hour))) {
		return "parent came up"
	}
	return ""
}

// wanted reports whether an integration gets the alerts about a check, and how long after the first ones.
func (w *world) wanted(j *chore, d *target) (wanted bool, after time.Duration) {
	if d.project != j.project {
		return false, 0
	}
	group := w.desks[0]
	member := group.project == j.project && slices.Contains(group.members, d)
	if a, named := w.steps[d]; named {
		return true, a
	}
	a, named := w.steps[group]
	switch {
	case slices.Contains(j.desks, d), member && slices.Contains(j.desks, group) && !named:
		return true, 0
	case member && named:
		return true, a
	}
	return false, 0
}

// wind moves the clock of an outage on.
func (w *world) wind(j *chore, now time.Time) {
	o := j.outage()
	may, must := w.mayHold(j, now, 0), w.mustHold(j, o, now)
	if o.streak, o.streakAck = o.streak+1, o.streakAck+1; may != "" {
		o.streak, o.streakAck = 0, 0
	}
	acked := j.acked(now)
	switch {
	case acked:
		o.streakAck = 0
	case j.ackSeen:
		o.streakAck, o.ran, o.roundAt, o.returned = 0, 0, now, now
	}
	if may != "" || acked {
		o.returned = time.Time{}
	}
	j.ackSeen = acked
	if must == "" || must == "parent came up" { // which keeps no reminder back
		o.ran++
	}
}
