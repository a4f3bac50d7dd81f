package courier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// channelN returns channels that sort by their number.
func channelN(n byte) uuid.UUID { return uuid.UUID{15: n} }

func TestJudge(t *testing.T) {
	d := Limits{RetryFirst: time.Second, RetryMost: time.Minute, GiveUp: time.Hour}
	away := errors.New("away")
	for name, tt := range map[string]struct {
		attempts    int
		age         time.Duration
		err         error
		to          checks.DeliveryState
		least, most time.Duration // until the next attempt
	}{
		"sent":                    {1, 0, nil, checks.DeliverySent, 0, 0},
		"sent late":               {9, 2 * time.Hour, nil, checks.DeliverySent, 0, 0},
		"first failure":           {1, 0, away, checks.DeliveryPending, time.Second / 2, time.Second},
		"fourth failure":          {4, 0, away, checks.DeliveryPending, 4 * time.Second, 8 * time.Second},
		"many failures":           {50, 0, away, checks.DeliveryPending, 30 * time.Second, time.Minute},
		"permanent":               {1, 0, channels.Permanent(away), checks.DeliveryFailed, 0, 0},
		"old, too few attempts":   {4, 2 * time.Hour, away, checks.DeliveryPending, 4 * time.Second, 8 * time.Second},
		"not old enough":          {5, time.Hour - 1, away, checks.DeliveryPending, 8 * time.Second, 16 * time.Second},
		"old and tried":           {5, time.Hour, away, checks.DeliveryFailed, 0, 0},
		"pause":                   {1, 0, channels.RetryAfter(away, 5*time.Minute), checks.DeliveryPending, 5 * time.Minute, 5 * time.Minute},
		"pause that is too long":  {1, 0, channels.RetryAfter(away, 5*time.Hour), checks.DeliveryPending, time.Hour, time.Hour},
		"pause that is too short": {1, 0, channels.RetryAfter(away, time.Millisecond), checks.DeliveryPending, time.Second, time.Second},
		"pause, old and tried":    {5, time.Hour, channels.RetryAfter(away, time.Minute), checks.DeliveryFailed, 0, 0},
	} {
		to, due := d.judge(store.QueuedDelivery{Attempts: tt.attempts, CreatedAt: noon.Add(-tt.age)}, tt.err, noon)
		if to != tt.to {
			t.Errorf("%s: %s, want %s", name, to, tt.to)
		}
		if to != checks.DeliveryPending && !due.IsZero() || to == checks.DeliveryPending && (due.Before(noon.Add(tt.least)) || due.After(noon.Add(tt.most))) {
			t.Errorf("%s: due %v, want %v to %v after noon", name, due, tt.least, tt.most)
		}
	}
}

// TestResults adds results of one delivery under several claims. The store drops those whose claim is not the latest.
func TestResults(t *testing.T) {
	under := func(claim int, state checks.DeliveryState) result {
		return result{DeliveryResult: store.DeliveryResult{QueuedDelivery: store.QueuedDelivery{ID: 7, State: state}, Claim: claim}}
	}
	for name, tt := range map[string]struct{ first, second, want result }{
		"renewed, then sent":       {under(3, checks.DeliveryPending), under(3, checks.DeliverySent), under(3, checks.DeliverySent)},
		"renewed, then failed":     {under(3, checks.DeliveryPending), under(3, checks.DeliveryFailed), under(3, checks.DeliveryFailed)},
		"sent, then failed":        {under(2, checks.DeliverySent), under(3, checks.DeliveryFailed), under(2, checks.DeliverySent)},
		"failed, then sent":        {under(3, checks.DeliveryFailed), under(2, checks.DeliverySent), under(2, checks.DeliverySent)},
		"again, then a later one":  {under(2, checks.DeliveryPending), under(3, checks.DeliveryFailed), under(3, checks.DeliveryFailed)},
		"a later one, then again":  {under(3, checks.DeliveryFailed), under(2, checks.DeliveryPending), under(3, checks.DeliveryFailed)},
		"sent, then sent again":    {under(2, checks.DeliverySent), under(3, checks.DeliverySent), under(3, checks.DeliverySent)},
		"sent, then lease renewed": {under(2, checks.DeliverySent), under(3, checks.DeliveryPending), under(2, checks.DeliverySent)},
	} {
		rs := make(results)
		rs.add(tt.first)
		rs.add(tt.second)
		if diff := cmp.Diff(results{7: tt.want}, rs, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestStale(t *testing.T) {
	for _, tt := range []struct {
		age   time.Duration
		error string
		want  bool
	}{{time.Hour, "away", true}, {time.Hour, "", false}, {10 * time.Minute, "away", false}, {10*time.Minute + 1, "away", true}} {
		if got := stale(store.QueuedDelivery{CreatedAt: noon.Add(-tt.age), Error: tt.error}, noon); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// TestSupersede has deliveries of flips, a minute apart, in one line: "d" is a flip down, "u" one up, and "r" a reminder
// of the flip down before it. The first delivery was claimed and has failed.
func TestSupersede(t *testing.T) {
	lease := noon.Add(time.Hour)
	for flips, want := range map[string]struct {
		kept  string        // the deliveries that are still to be sent, "." for one that is not
		since time.Duration // after noon; what the first of them sums up begins there; -1 if that is nothing
	}{
		"d":         {"d", -1},
		"u":         {"u", -1},
		"du":        {"du", -1},
		"ud":        {".d", 0},
		"dud":       {"..d", 0},
		"dudu":      {"..du", 0},
		"dududu":    {"....du", 0},
		"drr":       {"d..", -1},
		"rr":        {"r.", -1},
		"drru":      {"d..u", -1},
		"dudrr":     {"..d..", 0},
		"dudrru":    {"..d..u", 0},
		"rrud":      {"...d", -time.Minute},
		"rru":       {"r.u", -1},
		"uu":        {".u", 0},
		"durdrurdu": {".......du", 0},
	} {
		var line []store.WaitingDelivery
		flip := store.WaitingDelivery{FlipID: 1, FlipAt: noon.Add(-time.Minute)} // that of a reminder at the beginning
		for i, kind := range flips {
			if kind != 'r' {
				flip = store.WaitingDelivery{FlipID: int64(i + 2), FlipAt: noon.Add(time.Duration(i) * time.Minute), FlipUp: kind == 'u'}
			}
			w := flip
			w.QueuedDelivery = store.QueuedDelivery{ID: int64(10 + i), State: checks.DeliveryPending}
			if i == 0 {
				w.Attempts, w.Error, w.Due = 4, "away", lease
			}
			line = append(line, w)
		}
		before := slices.Clone(line)
		superseded, first := supersede(line)
		i := strings.IndexFunc(want.kept, func(r rune) bool { return r != '.' })
		kept := []byte(flips)
		for _, q := range superseded {
			kept[q.ID-10] = '.'
			text := "superseded by a newer alert"
			switch {
			case line[q.ID-10].FlipID == line[i].FlipID:
				text = "the alert before it is not sent yet"
			case q.ID == 10:
				text += "; before that: away"
			}
			if q.State != checks.DeliverySuperseded || q.Error != text {
				t.Errorf("%s: superseded %+v", flips, q)
			}
		}
		if string(kept) != want.kept {
			t.Errorf("%s: kept %s, want %s", flips, kept, want.kept)
		}
		wantFirst := store.DeliveryResult{QueuedDelivery: store.QueuedDelivery{
			ID: int64(10 + i), State: checks.DeliveryPending, Attempts: 4, Error: "away", Due: lease,
		}}
		if i == 0 {
			wantFirst.Claim = 4
		}
		if want.since != -1 {
			wantFirst.Since = noon.Add(want.since)
		}
		if diff := cmp.Diff(wantFirst, first); diff != "" {
			t.Errorf("%s: first (-want +got):\n%s", flips, diff)
		}
		if diff := cmp.Diff(before, line); diff != "" {
			t.Errorf("%s: changed its argument: %s", flips, diff)
		}
	}
}

// TestSupersedeAgain has a delivery that sums up others, or was tried before, be superseded itself.
func TestSupersedeAgain(t *testing.T) {
	line := []store.WaitingDelivery{
		{QueuedDelivery: store.QueuedDelivery{ID: 1, Attempts: 2, Error: strings.Repeat("é", MaxError), Since: noon.Add(-time.Hour)}, FlipID: 1, FlipAt: noon},
		{QueuedDelivery: store.QueuedDelivery{ID: 2, Attempts: 5}, FlipID: 2, FlipAt: noon.Add(time.Minute)},
	}
	superseded, first := supersede(line)
	if len(superseded) != 1 || len([]rune(superseded[0].Error)) != MaxError || first.Attempts != 6 || !first.Since.Equal(noon.Add(-time.Hour)) {
		t.Errorf("superseded %+v, first %+v", superseded, first)
	}
}

// TestSupersedeWaiting has a reminder about an earlier outage wait behind the line that is superseded.
func TestSupersedeWaiting(t *testing.T) {
	line := []store.WaitingDelivery{
		{QueuedDelivery: store.QueuedDelivery{ID: 2, Attempts: 5, Error: "away"}, FlipID: 2, FlipAt: noon.Add(time.Minute), FlipUp: true},
		{QueuedDelivery: store.QueuedDelivery{ID: 3}, FlipID: 3, FlipAt: noon.Add(2 * time.Minute)},
		{QueuedDelivery: store.QueuedDelivery{ID: 1, Reminder: 1, Held: gate.ByRepeat}, FlipID: 1, FlipAt: noon},
	}
	superseded, first := supersede(line)
	if len(superseded) != 2 || superseded[0].ID != 1 || superseded[1].ID != 2 || first.ID != 3 || !first.Since.Equal(noon) {
		t.Errorf("superseded %+v, first %+v", superseded, first)
	}
}

// TestSkipLine has a check go down again after it was read as up, and before its line is: the alert about that stays.
func TestSkipLine(t *testing.T) {
	waiting := func(id int64, flip int64, up bool) store.WaitingDelivery {
		q := store.QueuedDelivery{ID: id, CreatedAt: noon.Add(time.Duration(id) * time.Second)}
		return store.WaitingDelivery{QueuedDelivery: q, FlipID: flip, FlipAt: q.CreatedAt, FlipUp: up}
	}
	line := []store.WaitingDelivery{waiting(1, 1, false), waiting(2, 2, true), waiting(3, 3, false)}
	line[0].Held, line[0].HeldUntil = gate.ByMaintenance, noon.Add(time.Hour)
	if ended := skipLine(line, "the check is up", false, false); len(ended) != 1 || ended[0].ID != 1 {
		t.Errorf("ended %+v, want the first", ended)
	}
}

// projectN returns projects, which sort by their number.
func projectN(n int) uuid.UUID { return uuid.UUID{0: 1, 14: byte(n >> 8), 15: byte(n)} }

func TestTurns(t *testing.T) {
	var due []store.DueChannel
	for _, n := range []byte{4, 1, 3, 2, 3, 5} {
		due = append(due, store.DueChannel{Channel: channelN(n), Project: projectN(int(n))})
	}
	states := map[uuid.UUID]channelState{
		channelN(1): {pace{window: 4}, 3, false}, channelN(2): {pace{window: 4}, 4, false}, channelN(3): {pace{window: 4}, 9, false},
		channelN(4): {pace{window: 4}, 0, false}, channelN(5): {pace{slow: true}, 0, false},
	}
	one := room{store.ChannelRoom{Channel: channelN(1), N: 1}, projectN(1), false}
	four := room{store.ChannelRoom{Channel: channelN(4), N: 4}, projectN(4), false}
	slow := room{store.ChannelRoom{Channel: channelN(5), N: 1}, projectN(5), true}
	for after, want := range map[byte][]room{
		0: {one, four, slow}, 1: {four, one, slow}, 3: {four, one, slow}, 4: {one, four, slow}, 5: {one, four, slow},
	} {
		got := turns(due, channelN(after), states)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(room{})); diff != "" {
			t.Errorf("after %d (-want +got):\n%s", after, diff)
		}
	}
}

// TestPace has a channel answer attempts. Its window opens one alert an attempt while it answers, and closes when it hangs
// or rests.
func TestPace(t *testing.T) {
	const perChannel = 3
	type step struct {
		after, took time.Duration
		failed      bool
		window      int
		slow        bool
	}
	for name, steps := range map[string][]step{
		"quick": {{0, 0, false, 2, false}, {0, time.Second, true, 3, false}, {0, 0, false, 4, false}},
		"hangs": {{0, 0, false, 2, false}, {0, 30 * time.Second, true, 1, true}, {0, 30 * time.Second, true, 1, true}, {0, 0, false, 2, false}},
		"slow":  {{0, 9 * time.Second, false, 2, true}, {0, 9 * time.Second, false, 3, true}, {0, 9 * time.Second, false, 3, true}},
	} {
		var p pace
		now := noon
		for i, s := range steps {
			now = now.Add(s.after)
			p = p.next(s.took, s.failed, now, perChannel)
			if want := (pace{s.window, s.slow, now}); p != want {
				t.Errorf("%s, step %d: %+v, want %+v", name, i, p, want)
			}
		}
	}
	p := pace{window: 1}
	for range 100 {
		p = p.next(0, false, noon, perChannel)
	}
	if p.window != ahead*perChannel {
		t.Errorf("the window opens to %d", p.window)
	}
}

// TestLoad forgets what no longer counts: the window of a channel that rests, and that it was slow.
func TestLoad(t *testing.T) {
	l := newLoop(&Courier{Config: Config{Limits: Limits{Sends: 8, SendsPerChannel: 3}}}, background.End{})
	l.paces[channelN(2)], l.paces[channelN(3)] = pace{8, true, noon}, pace{8, false, noon}
	for _, tt := range []struct {
		after time.Duration
		want  []pace
	}{
		{0, []pace{{8, true, noon}, {8, false, noon}}}, {windowTime, []pace{{1, true, noon}, {}}}, {slowTime, []pace{{}, {}}},
	} {
		states, used := l.load(noon.Add(tt.after))
		if states[channelN(2)].pace != tt.want[0] || states[channelN(3)].pace != tt.want[1] || used.size != 8 {
			t.Errorf("after %v: %+v", tt.after, states)
		}
	}
}

// channelsOf returns channels with the same room of some projects each.
func channelsOf(project, n, has int, slow bool) (list []room) {
	for i := range n {
		id := uuid.UUID{0: byte(project), 14: byte(i >> 8), 15: byte(i)}
		list = append(list, room{store.ChannelRoom{Channel: id, N: has}, projectN(project), slow})
	}
	return list
}

// claimAll claims until nothing more can be claimed, and returns what each project holds.
func claimAll(list []room, p pool) (held map[int]int, rounds int) {
	if p.projects == nil {
		p.projects = make(map[uuid.UUID]int)
	}
	held = make(map[int]int)
	for ; ; rounds++ {
		parts := share(list, p)
		if len(parts) == 0 {
			return held, rounds
		}
		for _, part := range parts {
			i := slices.IndexFunc(list, func(r room) bool { return r.Channel == part.Channel })
			list[i].N -= part.N
			p.used += part.N
			p.projects[list[i].project] += part.N
			if list[i].slow {
				p.slow += part.N
			}
			held[int(list[i].project[15])] += part.N
		}
		list = slices.DeleteFunc(list, func(r room) bool { return r.N == 0 })
	}
}

// TestShare claims for channels of projects until nothing is left to share out.
func TestShare(t *testing.T) {
	for name, tt := range map[string]struct {
		list []room
		pool pool
		want map[int]int // by project
	}{
		"none":                       {nil, pool{size: 100}, map[int]int{}},
		"one project leaves a half":  {channelsOf(1, 400, 1, false), pool{size: 100}, map[int]int{1: 50}},
		"a channel alone":            {channelsOf(1, 1, 64, false), pool{size: 100}, map[int]int{1: 50}},
		"two leave a third":          {slices.Concat(channelsOf(1, 400, 1, false), channelsOf(2, 9, 64, false)), pool{size: 90}, map[int]int{1: 30, 2: 30}},
		"what one does not need":     {slices.Concat(channelsOf(1, 400, 1, false), channelsOf(2, 1, 1, false)), pool{size: 90}, map[int]int{1: 30, 2: 1}},
		"another holds its half":     {channelsOf(2, 400, 1, false), pool{size: 120, used: 60, projects: map[uuid.UUID]int{projectN(1): 60}}, map[int]int{2: 30}},
		"slow ones get a quarter":    {channelsOf(1, 400, 1, true), pool{size: 100}, map[int]int{1: 25}},
		"slow ones hold the quarter": {slices.Concat(channelsOf(1, 1, 3, false), channelsOf(1, 9, 1, true)), pool{size: 100, used: 25, slow: 25}, map[int]int{1: 3}},
		"a pool for one":             {channelsOf(1, 4, 1, false), pool{size: 1}, map[int]int{1: 1}},
		"nothing free":               {channelsOf(1, 4, 1, false), pool{size: 8, used: 8}, map[int]int{}},
	} {
		got, rounds := claimAll(tt.list, tt.pool)
		if diff := cmp.Diff(tt.want, got); diff != "" || rounds > 20 {
			t.Errorf("%s: %d rounds (-want +got):\n%s", name, rounds, diff)
		}
	}
}

// TestShareLeavesRoom has projects come one after the other, each with channels that hang. There is room for the first
// alert of the next one as long as it comes to that.
func TestShareLeavesRoom(t *testing.T) {
	p := pool{size: 2048, projects: make(map[uuid.UUID]int)}
	for project := 1; project <= 10; project++ {
		parts := share(channelsOf(project, 1, 1, false), p)
		if len(parts) != 1 {
			t.Fatalf("project %d finds no room: %d of %d are used", project, p.used, p.size)
		}
		held, _ := claimAll(channelsOf(project, 400, 1, false), p)
		p.used += held[project]
		p.projects[projectN(project)] = held[project]
	}
}

func TestOldest(t *testing.T) {
	due := []store.DueChannel{{Channel: channelN(1), Due: noon}, {Channel: channelN(2), Due: noon.Add(1)}, {Channel: channelN(3), Due: noon.Add(2)}}
	states := map[uuid.UUID]channelState{channelN(1): {pace: pace{slow: true}}}
	if got := oldest(due, states, nil); !got.Equal(noon.Add(1)) {
		t.Error(got)
	}
	if got := oldest(due, states, []store.ChannelRoom{{Channel: channelN(2), N: 1}}); !got.Equal(noon.Add(2)) {
		t.Errorf("with a part for one: %v", got)
	}
	if got := oldest(due[:1], states, nil); !got.IsZero() {
		t.Errorf("with slow ones alone: %v", got)
	}
}

// TestDivide has attempts at deliveries with several recipients end.
func TestDivide(t *testing.T) {
	l := Limits{RetryFirst: time.Second, RetryMost: time.Minute, GiveUp: time.Hour}
	away, gone := errors.New("away"), channels.Permanent(errors.New("gone"))
	each := func(answers ...error) error {
		names := []string{"a", "b", "c"}
		return channels.Each(channels.Notification{}, names[:len(answers)], func(r string) error { return answers[slices.Index(names, r)] })
	}
	for name, tt := range map[string]struct {
		q    store.QueuedDelivery
		held []string
		err  error
		left error    // what is left for the delivery
		done []string // those that have it
		own  []string // those with a delivery of their own, with its attempts
	}{
		"sent":                     {},
		"failed":                   {err: away, left: away},
		"all fail":                 {err: each(away, away), left: away},
		"one fails":                {err: each(nil, away), done: []string{"a"}, own: []string{"b 1"}},
		"one fails, one refuses":   {err: each(nil, away, gone), left: gone, done: []string{"a"}, own: []string{"b 1"}},
		"one refuses":              {err: each(nil, gone), left: gone, done: []string{"a"}},
		"one has it from before":   {q: store.QueuedDelivery{Done: []string{"z"}}, err: each(away), done: []string{"z"}, own: []string{"a 1"}},
		"the first hangs":          {err: each(context.DeadlineExceeded, context.DeadlineExceeded), left: context.DeadlineExceeded, own: []string{"a 1"}},
		"the others fail after it": {q: store.QueuedDelivery{Handed: []string{"c"}}, err: each(away, away), own: []string{"a 1", "b 1"}},
		"one has it after it":      {q: store.QueuedDelivery{Handed: []string{"c"}}, err: each(nil, away), done: []string{"a"}, own: []string{"b 1"}},
		"the only one hangs":       {err: each(context.DeadlineExceeded), left: context.DeadlineExceeded},
		"held":                     {held: []string{"b"}, own: []string{"b 0"}},
		"held again":               {q: store.QueuedDelivery{Handed: []string{"b"}}, held: []string{"b"}},
		"held, and another fails":  {held: []string{"z"}, err: each(nil, away), done: []string{"a"}, own: []string{"z 0", "b 1"}},
		"held, and the rest fails": {held: []string{"z"}, err: each(away), own: []string{"z 0", "a 1"}},
		"of its own":               {q: store.QueuedDelivery{Recipient: "b"}, err: each(nil, away), left: away, done: []string{"a"}},
		"a marked error alone":     {err: channels.Partial(away, "a"), left: away, done: []string{"a"}},
		"given up":                 {q: store.QueuedDelivery{Attempts: 9, CreatedAt: noon.Add(-time.Hour)}, err: each(nil, away), left: away, done: []string{"a"}},
	} {
		if tt.q.CreatedAt.IsZero() {
			tt.q.CreatedAt = noon
		}
		tt.q.Attempts = max(tt.q.Attempts, 1)
		got := l.divide(tt.q, tt.held, tt.err, noon)
		if (tt.left == nil) != (got.err == nil) || tt.left != nil && got.err.Error() != tt.left.Error() {
			t.Errorf("%s: %v is left, want %v", name, got.err, tt.left)
		}
		var own []string
		for _, h := range got.handed {
			own = append(own, fmt.Sprint(h.Recipient, " ", h.Attempts))
			if (h.Attempts == 0) != (h.err == nil) || h.Due.Before(noon) {
				t.Errorf("%s: %+v", name, h)
			}
		}
		if diff := cmp.Diff([][]string{tt.done, tt.own}, [][]string{got.done, own}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
