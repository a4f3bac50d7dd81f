package monitor_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

func TestConcurrentPings(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		list := []checks.Check{s.create(t, checks.Spec{}), s.create(t, checks.Spec{}), s.create(t, checks.Spec{})}
		const clients, each = 20, 15
		together(clients, func(client int) {
			for i := range each {
				if _, err := s.Ping(t.Context(), list[(client+i)%3].ID, pings.Signal{Body: fmt.Append(nil, client, i)}); err != nil {
					t.Error(err)
				}
			}
		})
		for _, c := range list {
			log, err := s.Pings(t.Context(), c.ID)
			must(t, err)
			if len(log) != clients*each/3 {
				t.Errorf("the log has %d pings, want %d", len(log), clients*each/3)
			}
			for i, p := range log {
				if p.N != int64(len(log)-i) {
					t.Errorf("entry %d of %d has number %d", i, len(log), p.N)
				}
			}
		}
	})
}

func TestPingSlug(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		channel, err := s.CreateChannel(t.Context(), s.project.ID, "email", "ops", map[string]string{"to": "ops@example.org"})
		must(t, err)
		ping := func(key, slug string, create bool) (bool, error) {
			_, created, err := s.PingSlug(t.Context(), key, slug, create, pings.Signal{})
			return created, err
		}
		if _, err := ping(s.project.PingKey, "backup", false); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("unknown slug: error %v, want ErrNotFound", err)
		}
		var created atomic.Int64
		together(8, func(int) {
			one, err := ping(s.project.PingKey, "backup", true)
			if err != nil {
				t.Error(err)
			}
			if one {
				created.Add(1)
			}
		})
		list, err := s.Checks(t.Context(), s.project.ID, checks.Query{Slug: "backup"})
		if err != nil || created.Load() != 1 || len(list) != 1 || list[0].NPings != 8 || list[0].Name != "backup" ||
			!cmp.Equal(list[0].Channels, []uuid.UUID{channel.ID}) {
			t.Errorf("8 pings have created the check %d times: %+v, error %v", created.Load(), list, err)
		}

		s.create(t, checks.Spec{Slug: new("twin")})
		s.create(t, checks.Spec{Slug: new("twin")})
		for _, create := range []bool{false, true} {
			if _, err := ping(s.project.PingKey, "twin", create); !errors.Is(err, checks.ErrAmbiguousSlug) {
				t.Errorf("slug of two checks: error %v, want ErrAmbiguousSlug", err)
			}
		}
		for _, slug := range []string{"", "Upper", "a b", "ä", "a\x00", strings.Repeat("a", 101)} {
			if _, err := ping(s.project.PingKey, slug, true); !errors.Is(err, checks.ErrNotFound) {
				t.Errorf("invalid slug %q: error %v, want ErrNotFound", slug, err)
			}
		}
		if _, err := ping("no-such-key", "backup", true); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("unknown ping key: error %v, want ErrNotFound", err)
		}
	})
}

// TestKeywordsNeedTheirText: no signal gets past the rules of a check by a wrong scheme or without the text that they search.
func TestKeywordsNeedTheirText(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{
			Slug: new("job"), FailureKW: new("failed"), SuccessKW: new("done"), FilterSubject: new(true), FilterBody: new(true), FilterHTTPBody: new(true),
			Methods: new("POST"),
		})
		mail := &pings.Mail{Subject: "failed"}
		for _, signal := range []pings.Signal{
			{Scheme: "smtp", Mail: mail}, {Scheme: "EMAIL", Mail: mail}, {Scheme: "email"}, {Mail: mail}, {Scheme: "https", Mail: mail},
			{Scheme: "HTTP", Method: "POST", Body: []byte("failed")}, {Scheme: "h2", Method: "POST", Body: []byte("failed")},
			{Method: "GET"}, {Filtered: []byte("failed")},
		} {
			_, err := s.Ping(t.Context(), c.ID, signal)
			_, _, bySlug := s.PingSlug(t.Context(), s.project.PingKey, "job", true, signal)
			for _, err := range []error{err, bySlug} {
				if e, ok := errors.AsType[*checks.FieldError](err); !ok || e.Field != "signal" {
					t.Errorf("%+v: error %v", signal, err)
				}
			}
		}
		for i, test := range []struct {
			signal pings.Signal
			want   pings.Kind
		}{
			{pings.FromMail("nas@example.org", nil, mail), pings.Failure},
			{pings.FromMail("", []byte("done"), &pings.Mail{}), pings.Ignored},
			{pings.FromHTTP("POST", true, []byte("failed")), pings.Failure},
			{pings.FromHTTP("GET", false, []byte("done")), pings.Ignored},
			{pings.FromHTTP("", false, []byte("done")), pings.Ignored},
			{pings.FromHTTP("post", false, []byte("done")), pings.Ignored},
			{pings.FromHTTP("POST", false, nil), pings.Ignored},
			{pings.Signal{}, pings.Success},
		} {
			if ping, err := s.Ping(t.Context(), c.ID, test.signal); err != nil || ping.Kind != test.want || ping.N != int64(i+1) {
				t.Errorf("%+v became %+v, error %v, want %s", test.signal, ping, err, test.want)
			}
		}
	})
}

// TestQueuedPingBounds: a ping with a time of its own is at most 31 days old and a minute ahead, or nothing is recorded.
func TestQueuedPingBounds(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{})
		for after, valid := range map[time.Duration]bool{
			-pings.MaxQueued: true, -pings.MaxQueued - time.Microsecond: false, pings.MaxAhead: true, pings.MaxAhead + time.Microsecond: false,
		} {
			signal := pings.Signal{At: noon.Add(after)}
			ping, err := s.Ping(t.Context(), c.ID, signal)
			refused, ok := errors.AsType[*checks.FieldError](err)
			if valid != (err == nil) || !valid && (!ok || refused.Field != "at") || valid && !ping.At.Equal(noon.Add(min(after, 0))) {
				t.Errorf("%v: logged at %v, error %v", after, ping.At, err)
			}
			if valid {
				continue
			}
			if _, created, err := s.PingSlug(t.Context(), s.project.PingKey, "new", true, signal); created || err == nil {
				t.Errorf("%v: created %v, error %v", after, created, err)
			}
		}
		list, err := s.Checks(t.Context(), s.project.ID, checks.Query{})
		if err != nil || len(list) != 1 || list[0].NPings != 2 {
			t.Errorf("%+v, error %v", list, err)
		}
	})
}
