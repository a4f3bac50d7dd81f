package courier

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
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
		to          store.DeliveryState
		least, most time.Duration // until the next attempt
	}{
		"sent":                    {1, 0, nil, store.DeliverySent, 0, 0},
		"sent late":               {9, 2 * time.Hour, nil, store.DeliverySent, 0, 0},
		"first failure":           {1, 0, away, store.DeliveryPending, time.Second / 2, time.Second},
		"fourth failure":          {4, 0, away, store.DeliveryPending, 4 * time.Second, 8 * time.Second},
		"many failures":           {50, 0, away, store.DeliveryPending, 30 * time.Second, time.Minute},
		"permanent":               {1, 0, channels.Permanent(away), store.DeliveryFailed, 0, 0},
		"old, too few attempts":   {4, 2 * time.Hour, away, store.DeliveryPending, 4 * time.Second, 8 * time.Second},
		"not old enough":          {5, time.Hour - 1, away, store.DeliveryPending, 8 * time.Second, 16 * time.Second},
		"old and tried":           {5, time.Hour, away, store.DeliveryFailed, 0, 0},
		"pause":                   {1, 0, channels.RetryAfter(away, 5*time.Minute), store.DeliveryPending, 5 * time.Minute, 5 * time.Minute},
		"pause that is too long":  {1, 0, channels.RetryAfter(away, 5*time.Hour), store.DeliveryPending, time.Hour, time.Hour},
		"pause that is too short": {1, 0, channels.RetryAfter(away, time.Millisecond), store.DeliveryPending, time.Second, time.Second},
		"pause, old and tried":    {5, time.Hour, channels.RetryAfter(away, time.Minute), store.DeliveryFailed, 0, 0},
	} {
		to, due := d.judge(store.QueuedDelivery{Attempts: tt.attempts, CreatedAt: noon.Add(-tt.age)}, tt.err, noon)
		if to != tt.to {
			t.Errorf("%s: %s, want %s", name, to, tt.to)
		}
		if to != store.DeliveryPending && !due.IsZero() || to == store.DeliveryPending && (due.Before(noon.Add(tt.least)) || due.After(noon.Add(tt.most))) {
			t.Errorf("%s: due %v, want %v to %v after noon", name, due, tt.least, tt.most)
		}
	}
}

// TestResults adds results of one delivery under several claims. The store drops those whose claim is not the latest.
func TestResults(t *testing.T) {
	under := func(claim int, state store.DeliveryState) result {
		return result{DeliveryResult: store.DeliveryResult{QueuedDelivery: store.QueuedDelivery{ID: 7, State: state}, Claim: claim}}
	}
	for name, tt := range map[string]struct{ first, second, want result }{
		"renewed, then sent":       {under(3, store.DeliveryPending), under(3, store.DeliverySent), under(3, store.DeliverySent)},
		"renewed, then failed":     {under(3, store.DeliveryPending), under(3, store.DeliveryFailed), under(3, store.DeliveryFailed)},
		"sent, then failed":        {under(2, store.DeliverySent), under(3, store.DeliveryFailed), under(2, store.DeliverySent)},
		"failed, then sent":        {under(3, store.DeliveryFailed), under(2, store.DeliverySent), under(2, store.DeliverySent)},
		"again, then a later one":  {under(2, store.DeliveryPending), under(3, store.DeliveryFailed), under(3, store.DeliveryFailed)},
		"a later one, then again":  {under(3, store.DeliveryFailed), under(2, store.DeliveryPending), under(3, store.DeliveryFailed)},
		"sent, then sent again":    {under(2, store.DeliverySent), under(3, store.DeliverySent), under(3, store.DeliverySent)},
		"sent, then lease renewed": {under(2, store.DeliverySent), under(3, store.DeliveryPending), under(2, store.DeliverySent)},
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
		since time.Duration // after noon; what the first of them sums up begins there
	}{
		"d":         {"d", -1},
		"u":         {"u", -1},
		"du":        {"du", -1},
		"ud":        {".d", 0},
		"dud":       {"..d", 0},
		"dudu":      {"..du", 0},
		"dududu":    {"....du", 0},
		"drr":       {"..r", 0},
		"drru":      {"d..u", 0},
		"dudrru":    {"..d..u", 0},
		"rrud":      {"...d", -time.Minute},
		"rru":       {"r.u", -time.Minute},
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
			w.QueuedDelivery = store.QueuedDelivery{ID: int64(10 + i), State: store.DeliveryPending}
			if i == 0 {
				w.Attempts, w.Error, w.Due = 4, "away", lease
			}
			line = append(line, w)
		}
		before := slices.Clone(line)
		superseded, first := supersede(line)
		kept := []byte(flips)
		for _, q := range superseded {
			kept[q.ID-10] = '.'
			text := "superseded by a newer alert"
			if q.ID == 10 {
				text += "; before that: away"
			}
			if q.State != store.DeliverySuperseded || q.Error != text {
				t.Errorf("%s: superseded %+v", flips, q)
			}
		}
		if string(kept) != want.kept {
			t.Errorf("%s: kept %s, want %s", flips, kept, want.kept)
		}
		i := strings.IndexFunc(want.kept, func(r rune) bool { return r != '.' })
		wantFirst := store.DeliveryResult{QueuedDelivery: store.QueuedDelivery{
			ID: int64(10 + i), State: store.DeliveryPending, Attempts: 4, Error: "away", Due: lease,
		}}
		if i == 0 {
			wantFirst.Claim = 4
		}
		if want.since >= 0 || len(superseded) > 0 {
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

func TestTurns(t *testing.T) {
	due := []uuid.UUID{channelN(4), channelN(1), channelN(3), channelN(2), channelN(3)}
	busy := map[uuid.UUID]int{channelN(1): 3, channelN(2): 4, channelN(3): 9}
	for after, want := range map[byte][]store.ChannelRoom{
		0: {{Channel: channelN(1), N: 1}, {Channel: channelN(4), N: 4}},
		1: {{Channel: channelN(4), N: 4}, {Channel: channelN(1), N: 1}},
		3: {{Channel: channelN(4), N: 4}, {Channel: channelN(1), N: 1}},
		4: {{Channel: channelN(1), N: 1}, {Channel: channelN(4), N: 4}},
	} {
		if diff := cmp.Diff(want, turns(due, channelN(after), busy, 4)); diff != "" {
			t.Errorf("after %d (-want +got):\n%s", after, diff)
		}
	}
	if got := turns(due, uuid.Nil, busy, 3); len(got) != 1 || got[0] != (store.ChannelRoom{Channel: channelN(4), N: 3}) {
		t.Errorf("with less room: %v", got)
	}
}

// TestShare claims from channels with some deliveries each until nothing is left to share out.
func TestShare(t *testing.T) {
	for name, tt := range map[string]struct {
		limit int
		room  []int
		has   []int // how many each channel has, in the order of the turns
		want  []int
	}{
		"none":                         {10, nil, nil, nil},
		"one":                          {10, []int{16}, []int{100}, []int{10}},
		"equal":                        {9, []int{16, 16, 16}, []int{100, 100, 100}, []int{3, 3, 3}},
		"fewer than channels":          {2, []int{16, 16, 16}, []int{100, 100, 100}, []int{1, 1, 0}},
		"a small one leaves the rest":  {12, []int{16, 16, 16}, []int{100, 1, 100}, []int{6, 1, 5}},
		"only one has any":             {12, []int{16, 16, 16}, []int{0, 100, 0}, []int{0, 12, 0}},
		"room ends":                    {100, []int{4, 16, 2}, []int{100, 100, 100}, []int{4, 16, 2}},
		"empty ones before the others": {1, []int{16, 16, 16}, []int{0, 0, 5}, []int{0, 0, 1}},
	} {
		var due []uuid.UUID
		left, room := make(map[uuid.UUID]int), make(map[uuid.UUID]int)
		for i, n := range tt.room {
			due = append(due, channelN(byte(i)))
			left[channelN(byte(i))], room[channelN(byte(i))] = tt.has[i], n
		}
		total := make(map[uuid.UUID]int)
		rounds := 0
		for limit := tt.limit; limit > 0; rounds++ {
			var list []store.ChannelRoom
			for _, channel := range due {
				if n := room[channel] - total[channel]; n > 0 {
					list = append(list, store.ChannelRoom{Channel: channel, N: n})
				}
			}
			parts := share(list, limit)
			if len(parts) == 0 {
				break
			}
			for _, part := range parts {
				n := min(part.N, left[part.Channel])
				left[part.Channel] -= n
				total[part.Channel] += n
				limit -= n
				if n < part.N { // nothing is due for it any more
					due = slices.DeleteFunc(due, func(id uuid.UUID) bool { return id == part.Channel })
				}
			}
		}
		var got []int
		for i := range tt.room {
			got = append(got, total[channelN(byte(i))])
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || rounds > 5 {
			t.Errorf("%s: %d rounds (-want +got):\n%s", name, rounds, diff)
		}
	}
}

// TestShareBounds shares out any limit over any channels: never more than the limit or the room of one.
func TestShareBounds(t *testing.T) {
	for limit := range 12 {
		for n := range 6 {
			var list []store.ChannelRoom
			room := make(map[uuid.UUID]int)
			for i := range n {
				list = append(list, store.ChannelRoom{Channel: channelN(byte(i)), N: 1 + i})
				room[channelN(byte(i))] = 1 + i
			}
			sum := 0
			for _, part := range share(list, limit) {
				sum += part.N
				if part.N < 1 || part.N > room[part.Channel] {
					t.Errorf("limit %d: %+v", limit, part)
				}
				delete(room, part.Channel)
			}
			if sum > limit || limit > 0 && n > 0 && sum == 0 {
				t.Errorf("limit %d over %d channels: %d", limit, n, sum)
			}
		}
	}
}
