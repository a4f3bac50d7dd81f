package people

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A limit of failed attempts: so many at once, and one more in each pause.
type limitRule struct {
	burst int
	pause time.Duration
}

var (
	// byPair is for one account from one network or known device, byAddress for all accounts from one network, and byAccount for
	// one account from all strange places: networks and devices from which its person has not signed in before. So a flood from
	// elsewhere never locks the person out.
	byPair    = limitRule{10, time.Minute}
	byAddress = limitRule{50, 6 * time.Second}
	byAccount = limitRule{100, 30 * time.Second}
	// byCode is for codes, and for passwords of those who are signed in.
	byCode = limitRule{10, time.Minute}
)

// limits counts failed attempts on this server. The zero value is ready.
type limits struct {
	mu      sync.Mutex
	buckets map[string]*bucket
	cleaned time.Time
}

type bucket struct {
	*rate.Limiter
	rule limitRule
}

// maxBuckets bounds the memory. Beyond it, all counts are forgotten.
const maxBuckets = 100_000

func (l *limits) get(now time.Time, key string, rule limitRule) *bucket {
	if l.buckets == nil {
		l.buckets = map[string]*bucket{}
	}
	if now.Sub(l.cleaned) > time.Minute || len(l.buckets) >= maxBuckets {
		l.cleaned = now
		for key, b := range l.buckets {
			if b.TokensAt(now) >= float64(b.rule.burst) {
				delete(l.buckets, key)
			}
		}
		if len(l.buckets) >= maxBuckets {
			clear(l.buckets)
		}
	}
	b := l.buckets[key]
	if b == nil {
		b = &bucket{rate.NewLimiter(rate.Every(rule.pause), rule.burst), rule}
		l.buckets[key] = b
	}
	return b
}

// take takes one attempt from all buckets, or from none if one is empty: then it does not reach the buckets behind that one. It
// returns what gives the attempt back.
func (l *limits) take(now time.Time, keys []string, rules []limitRule) (succeeded func(), wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var taken []*rate.Reservation
	for i, key := range keys {
		r := l.get(now, key, rules[i]).ReserveN(now, 1)
		taken = append(taken, r)
		if wait = r.DelayFrom(now); wait > 0 {
			for _, r := range taken {
				r.CancelAt(now)
			}
			return nil, wait
		}
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for i, key := range keys {
			l.get(now, key, rules[i]).ReserveN(now, -1)
		}
	}, 0
}

// attempt counts a sign-in until it succeeds. The place is a network, or a device that is known.
func (l *limits) attempt(now time.Time, account, place string, known bool) (succeeded func(), wait time.Duration) {
	pair := "pair " + account + " " + place
	if known {
		return l.take(now, []string{pair}, []limitRule{byPair})
	}
	// The network is first, so that one network cannot fill the memory with the names of accounts.
	return l.take(now, []string{"network " + place, pair, "account " + account}, []limitRule{byAddress, byPair, byAccount})
}

// confirm counts what a person who is known types, until it is right.
func (l *limits) confirm(now time.Time, key string) (succeeded func(), wait time.Duration) {
	return l.take(now, []string{"confirm " + key}, []limitRule{byCode})
}

// networkOf returns an IPv4 address, or the /64 network of an IPv6 address: one customer has all of it.
func networkOf(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if a = a.Unmap().WithZone(""); a.Is4() {
		return a.String()
	}
	network, _ := a.Prefix(64) // never fails
	return network.String()
}
