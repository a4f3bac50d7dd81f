package monitor_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

const (
	// workingTicks is for how many ticks a receiver has worked before the judge expects something of it.
	workingTicks = 4
	// lateTicks is how many ticks an alert may take.
	lateTicks = 3
)

type personKey struct {
	*chore
	*recipient
}

// person is what a recipient has heard about a check.
type person struct {
	told, begun, refused map[int]bool // outages
	failed               map[int]bool // an attempt did while it was the last, so its letters are apart from those of others
	asked, maybe         map[int]bool // a server died that may have been about to tell it, or may have told it
	sure                 map[int]bool // told, and the sender knows
	downID               map[int]string
	belief               int // the outage that the last letter was about, or -1 if that said up
	lastWord             time.Time
	night                map[int]bool // outages in which quiet hours were in force
	everWanted           map[int]bool // outages in which it was wanted at some time
	wanted, unwanted     int          // ticks in a row
	after                time.Duration
	unanswered           bool // the last attempt
	doubt                bool // something was refused, or its answer was lost, or it was moved away
	quietUp              int  // ticks in a row in which it could have been told that the check is up
	reminding            int  // ticks in a row in which it could have got a reminder
}

func (w *world) person(j *chore, r *recipient) *person {
	key := personKey{j, r}
	if w.persons[key] == nil {
		w.persons[key] = &person{told: make(map[int]bool), sure: make(map[int]bool), failed: make(map[int]bool), asked: make(map[int]bool), maybe: make(map[int]bool), begun: make(map[int]bool), night: make(map[int]bool), refused: make(map[int]bool), downID: make(map[int]string), everWanted: make(map[int]bool), belief: -1}
	}
	return w.persons[key]
}

// forget forgets the keys of alerts of which the sender does not know that they have arrived: what has ended may begin again with another.
func (w *world) forget(of func(personKey) bool) {
	for key, p := range w.persons {
		if of(key) {
			maps.DeleteFunc(p.downID, func(o int, _ string) bool { return !p.sure[o] })
		}
	}
}

// complain notes that something went wrong.
func (w *world) complain(rule, format string, args ...any) {
	if w.wrong = append(w.wrong, rule); len(w.wrong) < 10 {
		w.note("  !! " + rule + ": " + fmt.Sprintf(format, args...))
	}
}

// look is what the judge does at each tick.
func (w *world) look() {
	w.touch()
	now := w.now()
	for _, j := range w.jobs {
		if j.status == "down" {
			w.wind(j, now)
		}
	}
	for _, d := range w.desks[1:] {
		for _, r := range d.to {
			if r.ready++; r.mode != "ok" {
				r.ready = 0
			}
			for _, l := range r.got {
				if !l.answered && !l.refused {
					r.ready = 0
				}
				w.read(r, l, now)
			}
			r.got = nil
		}
	}
	for _, j := range w.jobs {
		w.judge(j, now)
		j.told = j.status == "down" && w.sureOf(j)
	}
}

// read judges a letter.
func (w *world) read(r *recipient, l letter, now time.Time) {
	j := w.jobs[slices.IndexFunc(w.jobs, func(j *chore) bool { return j.id == l.Check.ID })]
	p := w.person(j, r)
	what := fmt.Sprintf("%s %s to %s/%s", j.name, l.Status, r.target.name, r.name)
	if l.Reminder > 0 {
		what += fmt.Sprintf(" (reminder %d)", l.Reminder)
	}
	if !l.Over.IsZero() {
		what += " (over)"
	}
	if l.Closed {
		what += " (closed)"
	}
	if _, found := w.ids[l.key+r.name]; !found || l.answered {
		w.note(fmt.Sprintf("  %s of %s%s", what, clockText(l.At), map[bool]string{false: ": " + r.mode}[l.answered]))
	}
	content := fmt.Sprintf("%s %s of %v, reminder %d", j.name, l.Status, l.At, l.Reminder)
	before, again := w.ids[l.key+r.name]
	if again && before != content {
		w.complain("identity", "%s stood for %q before, not %q", l.key, before, content)
	}
	w.ids[l.key+r.name] = content
	switch {
	case l.Closed:
		if wanted, _ := w.wanted(j, r.target); wanted && p.wanted > 0 && j.status == "down" && p.belief == j.outage().n && j.outage().up.IsZero() {
			w.complain("closed", "%s, which goes on", what)
		}
		if l.arrived { // it may be told again
			p.belief = -1
			clear(p.told)
		}
		p.doubt = p.doubt || l.refused // the next attempt is hours away
		clear(p.downID)
		clear(p.sure)
	case l.Status == channels.Up:
		w.readUp(j, r, p, l, what, now, again)
	default:
		w.readDown(j, r, p, l, what, now, again)
	}
}

func (w *world) readUp(j *chore, r *recipient, p *person, l letter, what string, now time.Time, again bool) {
	i := len(j.outages) - 1 // the last outage before
	for i >= 0 && j.outages[i].down.After(l.At) {
		i--
	}
	if !slices.ContainsFunc(j.ups, l.At.Equal) || i < 0 {
		w.complain("truth", "%s at %v, when nothing came up", what, l.At)
		return
	}
	if j.isQuiet(now) {
		w.complain("kept back", "%s is kept back: quiet hours", what)
	}
	if !again && !p.mayHave(i) && r.only != "up" {
		w.complain("up without down", "%s", what)
	}
	if l.refused {
		p.doubt = true
	}
	if p.unanswered = !l.answered; p.unanswered {
		p.failed[len(j.outages)-1] = true
	}
	if l.arrived || l.refused {
		p.belief = -1
	}
	if l.answered {
		maps.DeleteFunc(p.asked, func(o int, _ bool) bool { return o <= i })
		maps.DeleteFunc(p.begun, func(o int, _ bool) bool { return o <= i })
		maps.DeleteFunc(p.night, func(o int, _ bool) bool { return o <= i })
	}
}

// mayHave reports whether somebody may have heard of an outage or one before, or would have but for quiet hours. The sender cannot know
// what a server that died has done.
func (p *person) mayHave(last int) bool {
	for o := 0; o <= last; o++ {
		if p.begun[o] || p.night[o] || p.maybe[o] {
			return true
		}
	}
	return false
}

func (w *world) readDown(j *chore, r *recipient, p *person, l letter, what string, now time.Time, again bool) {
	i := slices.IndexFunc(j.outages, func(o *failure) bool { return o.down.Equal(l.At) })
	if i < 0 {
		w.complain("truth", "%s at %v, when nothing went down", what, l.At)
		return
	}
	o := j.outages[i]
	_, after := w.wanted(j, r.target)
	if why := w.mustHold(j, o, now); why != "" && !(l.Reminder > 0 && why == "parent came up") {
		w.complain("kept back", "%s is kept back: %s", what, why)
	}
	late := after > 0 && w.edited.Before(o.down) // if the policy names a group in its place, it hears at once
	if j.acked(now) && o == j.outage() && (l.Reminder > 0 || late && !p.begun[i]) {
		w.complain("acknowledged", "%s has been acknowledged", what)
	}
	if !l.Over.IsZero() && !l.Over.Equal(o.up) || l.Over.IsZero() && !o.up.IsZero() {
		w.complain("truth", "%s is over at %v, not %v", what, o.up, l.Over)
	}
	if !p.everWanted[i] {
		w.complain("not wanted", "%s is about nothing that concerns it", what)
	}
	if later := slices.Sorted(maps.Keys(p.told)); len(later) > 0 && later[len(later)-1] > i && !(!w.retried.IsZero() && !l.Over.IsZero()) {
		w.complain("order", "%s after a later outage", what)
	}
	asked := w.retried.After(p.lastWord) || p.refused[i] && w.retried.After(o.down) // for it by hand, with others before it perhaps
	if id, found := p.downID[i]; found && id != l.key && l.Reminder == 0 && p.told[i] && o.roundAt.Before(p.lastWord) && !asked {
		w.complain("twice", "%s again", what)
	}
	if l.Reminder > 0 && !p.begun[i] && !p.told[i] {
		w.complain("reminder first", "%s has heard of nothing", what)
	}
	if l.Reminder == 0 && after > 0 && j.status == "down" && !p.begun[i] && w.edited.Before(o.down) && time.Duration(o.ran+1)*judgeTick < after {
		w.complain("step", "%s after %d ticks of the clock, its step is %v", what, o.ran, after)
	}
	if !again && l.Reminder > 0 && j.repeat > 0 && p.told[i] && !p.failed[i] && now.Sub(p.lastWord) < j.repeat*9/10-judgeTick && j.settings.Before(p.lastWord) && !o.roundAt.After(p.lastWord) {
		w.complain("spacing", "%s after %v", what, now.Sub(p.lastWord))
	}
	p.begun[i], p.downID[i], p.unanswered = true, l.key, !l.answered
	if !l.answered {
		p.failed[i], p.failed[len(j.outages)-1] = true, true
	}
	if l.refused {
		p.refused[i], p.doubt = true, true
	}
	if l.answered {
		p.sure[i] = true
		maps.DeleteFunc(p.asked, func(o int, _ bool) bool { return o <= i })
	}
	if l.arrived {
		p.told[i], p.belief, p.lastWord = true, i, now
	}
}

// judge judges what each person knows.
func (w *world) judge(j *chore, now time.Time) {
	for _, d := range w.desks[1:] {
		wanted, after := w.wanted(j, d)
		for _, r := range d.to {
			w.judgePerson(j, r, w.person(j, r), wanted, after, now)
		}
	}
}

func (w *world) judgePerson(j *chore, r *recipient, p *person, wanted bool, after time.Duration, now time.Time) {
	if p.wanted++; !wanted || after != p.after {
		p.wanted = 0
	}
	p.after = after
	if n := len(j.outages); n > 0 && j.isQuiet(now) {
		p.night[n-1] = true
	}
	slack := lateTicks
	if r.kind == "digest" {
		slack += 3
	}
	who := fmt.Sprintf("%s/%s of %s", r.target.name, r.name, j.name)
	if j.status == "down" && r.only == "up" { // it has chosen not to know
		p.refused[j.outage().n], p.reminding = true, 0
	} else if j.status == "down" {
		w.judgeSilence(j, r, p, who, slack, now)
		w.judgeReminders(j, r, p, who, slack, now)
	} else { // a reminder that a pause has ended does not come back with it, but the next does
		p.reminding = 0
	}
	w.judgeEnd(j, r, p, who, slack, now)
}

func steps(d time.Duration) int { return int(d / judgeTick) }

// judgeSilence asks that somebody whose turn has come knows of an outage, and hears of it again when an acknowledgement has ended.
func (w *world) judgeSilence(j *chore, r *recipient, p *person, who string, slack int, now time.Time) {
	o := j.outage()
	turn := steps(p.after) + slack
	if r.ready < workingTicks || p.refused[o.n] || len(p.asked) > 0 {
		return
	}
	streak := o.streakAck
	if p.after == 0 {
		streak = o.streak
	}
	if p.wanted >= slack && streak >= turn && !p.told[o.n] {
		w.complain("silence", "%s does not know of the outage of %s, for %d ticks", who, clockText(o.down), streak)
		p.refused[o.n] = true
	}
	if o.returned.IsZero() || p.belief != o.n || !p.told[o.n] || p.failed[o.n] || j.settings.After(o.returned) || p.wanted <= steps(now.Sub(o.returned)) {
		return
	}
	// Who is reached in another way now may wait for a group that has not heard itself.
	if o.streakAck >= turn && p.lastWord.Before(o.returned) && w.edited.Before(p.lastWord) && steps(now.Sub(p.lastWord)) >= steps(j.repeat)+slack {
		w.complain("returned", "%s has heard nothing since %s, when an acknowledgement ended", who, clockText(o.returned))
		p.refused[o.n] = true
	}
}

// judgeReminders asks for reminders to somebody who knows of an outage.
func (w *world) judgeReminders(j *chore, r *recipient, p *person, who string, slack int, now time.Time) {
	o := j.outage()
	if p.reminding++; r.ready < workingTicks || p.wanted == 0 || j.repeat == 0 || o.streakAck < steps(p.after)+slack || p.belief != o.n || p.refused[o.n] || j.settings.After(now.Add(-judgeTick)) {
		p.reminding = 0
	}
	every, word := j.repeat, p.lastWord
	if p.failed[o.n] { // one that comes late stands for the next
		every *= 2
	}
	if again := w.edited.Add(j.repeat); again.After(word) { // somebody who gets it in another way now
		word = again
	}
	if last := steps(now.Sub(word)); p.reminding > 0 && min(p.reminding, last) >= steps(every)+slack {
		w.complain("reminder", "%s has heard nothing for %v", who, now.Sub(p.lastWord))
		p.reminding = 0
	}
}

// judgeEnd asks that nobody believes in an outage that is over, and that no incident is open that concerns nobody.
func (w *world) judgeEnd(j *chore, r *recipient, p *person, who string, slack int, now time.Time) {
	works := r.ready >= workingTicks
	over := p.belief >= 0 && !j.outages[p.belief].up.IsZero()
	if r.only == "down" && (over || p.wanted == 0) {
		delete(r.open, j.id)
	}
	if r.only == "down" && over {
		p.belief = -1
	}
	over = p.belief >= 0 && !j.outages[p.belief].up.IsZero()
	for o := p.belief; o >= 0 && o < len(j.outages) && over && j.status == "down"; o++ { // one alert sums up the night
		over = !p.night[o]
	}
	if p.quietUp++; !over || p.unanswered && j.status == "down" || j.status == "paused" || j.isQuiet(now) || !works || r.only == "down" || p.doubt {
		p.quietUp = 0
	}
	if p.quietUp > slack+4 {
		w.complain("lie", "%s believes in the outage of %s, which is over", who, clockText(j.outages[p.belief].down))
		p.belief = -1
	}
	if p.unwanted++; j.status != "down" || p.wanted > 0 || !works || p.doubt || p.unanswered || r.only != "" || !r.open[j.id] || j.outage().streak < p.unwanted {
		p.unwanted = 0
	}
	if r.kind == "incident" && (works && r.open[j.id] && p.belief == -1 && !p.doubt || p.unwanted > 2*slack+4) {
		w.complain("incident", "%s has an open incident", who)
		p.unwanted = 0
	}
}

// killed notes that a server has died. What it had claimed leaves later, and counts as tried.
func (w *world) killed() {
	w.settle() // it may have claimed what has become due in this instant
	for _, d := range w.desks {
		for _, r := range d.to {
			r.ready = 0
		}
	}
	for key, p := range w.persons {
		for i, last := len(key.outages)-1, true; i >= 0; i, last = i-1, false { // it may have claimed alerts about all that this tick has seen
			if p.maybe[i] = p.maybe[i] || !p.told[i]; last && !p.told[i] && key.status == "down" {
				p.asked[i] = true
			}
			if key.outages[i].down.Before(w.now().Add(-judgeTick)) {
				break
			}
		}
	}
	w.note("  a server dies")
}

// lift ends all that keeps alerts back.
func (w *world) lift() {
	for i := range w.windows {
		w.endWindow([4]int{i})
	}
	w.setPolicy(nil)
	w.edited = w.now()
	for _, j := range w.jobs {
		w.unacknowledge([4]int{slices.Index(w.jobs, j)})
		j.quiet = nil
		j.parent = nil
		w.change(j, checks.Spec{QuietHours: new(""), RecordOnly: new(false), AlertAfter: new(1), After: new("")})
	}
	for _, d := range w.desks[1:] {
		for _, r := range d.to {
			r.mode = "ok"
		}
	}
	w.note("everything is lifted")
}
