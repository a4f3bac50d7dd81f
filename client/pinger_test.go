package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
)

// kinds returns the kinds of the pings in a log.
func kinds(list []pings.Ping) (kinds []pings.Kind) {
	for _, p := range list {
		kinds = append(kinds, p.Kind)
	}
	return kinds
}

func TestPings(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	byID := s.create(checks.Spec{Methods: new("POST")})
	bySlug := s.create(checks.Spec{Slug: new("job_1-x")})
	for name, test := range map[string]struct {
		check checks.Snapshot
		url   string
	}{
		"uuid":            {byID, byID.PingURL},
		"slug":            {bySlug, client.SlugURL(s.url+"/ping/", s.project.PingKey, "job_1-x")},
		"slug and create": {s.create(checks.Spec{Slug: new("more")}), client.SlugURL(s.url+"/ping", s.project.PingKey, "more") + "?create=1"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := client.NewPinger(test.url, &client.PingerConfig{UserAgent: "the job"})
			if err != nil {
				t.Fatal(err)
			}
			run, err := p.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.clock.Advance(1234 * time.Millisecond)
			id := uuid.MustParse("22222222-2222-4333-8444-555555555555")
			for i, send := range []func() error{
				func() error { return run.Log(t.Context(), []byte("half way")) },
				func() error { return run.Success(t.Context(), []byte("all fine\n")) },
				func() error { return p.Failure(t.Context(), []byte("é\x00\xff")) },
				func() error { return p.Log(t.Context(), nil) },
				func() error { return p.Success(t.Context(), nil) },
				func() error { return p.ExitStatus(t.Context(), 0, nil) },
				func() error { return run.ExitStatus(t.Context(), 255, []byte("killed")) },
				func() error {
					return p.Ping(t.Context(), pings.Signal{RunID: uuid.NullUUID{UUID: id, Valid: true}})
				},
				func() error { return run.Failure(t.Context(), nil) },
			} {
				if err := send(); err != nil {
					t.Fatal(i, err)
				}
			}
			list, bodies := s.log(test.check)
			equal(t, "kinds", kinds(list), []pings.Kind{"start", "log", "success", "fail", "log", "success", "success", "fail", "success", "fail"})
			equal(t, "bodies", bodies, []string{"", "half way", "all fine\n", "é\x00\xff", "", "", "", "killed", "", ""})
			own := uuid.NullUUID{UUID: run.ID(), Valid: true}
			for i, want := range []uuid.NullUUID{own, own, own, {}, {}, {}, {}, own, {UUID: id, Valid: true}, own} {
				if list[i].RunID != want {
					t.Errorf("ping %d: run %v, want %v", i+1, list[i].RunID, want)
				}
			}
			equal(t, "third", list[2], pings.Ping{
				N: 3, Kind: pings.Success, At: s.clock.Now(), Scheme: "http", RemoteAddr: "127.0.0.1", Method: "POST", UserAgent: "the job",
				RunID: own, Duration: new(1230 * time.Millisecond), BodySize: -1,
			})
		})
	}
}

func TestPingCreates(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	url := client.SlugURL(s.url+"/ping", s.project.PingKey, "fresh")
	if err := s.pinger(url).Success(t.Context(), nil); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("without create: %v", err)
	}
	run, err := s.pinger(url + "?create=1").Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.client.Checks(t.Context(), checks.Query{Slug: "fresh"})
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if log, _ := s.log(list[0]); len(log) != 1 || log[0].RunID.UUID != run.ID() {
		t.Errorf("log %+v", log)
	}
}

func TestBodyIsCut(t *testing.T) {
	s := serve(t, server.Config{PingBodyLimit: 10}, "paid")
	c := s.create(checks.Spec{})
	p := s.pinger(c.PingURL)
	if p.BodyLimit() != 100_000 {
		t.Errorf("limit %d before the first answer", p.BodyLimit())
	}
	run, err := p.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.BodyLimit() != 10 {
		t.Errorf("limit %d", p.BodyLimit())
	}
	wide := []byte("\xff\xfea\x00b\x00c\x00d\x00e\x00f\x00") // 14 bytes of UTF-16
	signals := []pings.Signal{
		{Body: []byte("0123456789")}, {Body: []byte("0123456789x")}, {Body: []byte("01234" + strings.Repeat("€", 9) + "56789")},
		{Body: []byte("0123456789x"), BodyCut: 7}, {Body: []byte("abcd"), BodyCut: 7}, {Body: wide, BodyCharset: "utf-16le"},
	}
	for _, signal := range signals {
		signal.Kind, signal.RunID = pings.Log, uuid.NullUUID{UUID: run.ID(), Valid: true}
		if err := p.Ping(t.Context(), signal); err != nil {
			t.Fatal(err)
		}
	}
	_, bodies := s.log(c)
	equal(t, "bodies", bodies[1:], []string{"0123456789", "012346789x", "0123456789", "012346789x", "abcd", string(wide[:5]) + string(wide[9:])})
	for i, cut := range []int64{0, 1, 27, 8, 7, 4} {
		stored, err := s.mon.Project(s.project.ID).PingWithBody(t.Context(), c.ID, int64(i)+2)
		if err != nil || stored.BodyCut != cut || i == 5 && stored.BodyCharset != "utf-16le" {
			t.Errorf("ping %d: %d bytes left out, character set %q, %v; want %d", i, stored.BodyCut, stored.BodyCharset, err, cut)
		}
	}
}

// TestPingAtFault: a server that fails to record one ping gets the others soon; one that records none, or that another program stands
// in for, gets all when it is back.
func TestPingAtFault(t *testing.T) {
	for name, test := range map[string]struct {
		tries   int
		status  func(body string, since time.Duration) int
		arrived string
		lost    int
	}{
		"one ping":  {status: func(body string, since time.Duration) int { return when(body == "b" || since < time.Second, 500) }, arrived: "acdef", lost: 1},
		"two pings": {status: func(body string, since time.Duration) int { return when(body < "c" || since < time.Second, 500) }, arrived: "cdef", lost: 2},
		"hours":     {status: func(_ string, since time.Duration) int { return when(since < 3*time.Hour, 500) }, arrived: "abcdef"},
		"proxy":     {status: func(_ string, since time.Duration) int { return when(since < time.Second, 502, since < time.Hour, 404) }, arrived: "abcdef"},
		"every third": {status: func() func(string, time.Duration) int {
			n := 0
			return func(string, time.Duration) int { n++; return when(n%3 > 0, 503) }
		}(), arrived: "abcdef"},
		"three tries": {tries: 3, status: func(_ string, since time.Duration) int { return when(since < time.Hour, 503) }, lost: 6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, arrived, reported := time.Now(), "", ""
				config := client.PingerConfig{Tries: test.tries, HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
					body, _ := io.ReadAll(r.Body)
					if status := test.status(string(body), time.Since(began)); status != 0 {
						return respond(r, status, "text/plain", "404 page not found"), nil
					}
					arrived += string(body)
					return respond(r, 200, "text/plain", "OK"), nil
				})}}
				config.Job.OnPingError = func(_ context.Context, err error) { reported += err.Error() + "\n" }
				p, err := client.NewPinger("https://rollcall.example.org/ping/x", &config)
				if err != nil {
					t.Fatal(err)
				}
				for body := range strings.SplitSeq("abcdef", "") {
					_ = p.Log(t.Context(), []byte(body))
				}
				time.Sleep(4 * time.Hour)
				err = p.Close(t.Context())
				if arrived != test.arrived || (err == nil) != (test.lost == 0) || err != nil && !strings.HasSuffix(err.Error(), fmt.Sprint(": ", test.lost)) || (err == nil) != (reported == "") {
					t.Errorf("arrived %q, want %q without %d; Close: %v; reported:\n%s", arrived, test.arrived, test.lost, err, reported)
				}
			})
		})
	}
}

// when returns the status of the first condition that holds, or 0.
func when(list ...any) int {
	for i := 0; i < len(list); i += 2 {
		if list[i].(bool) {
			return list[i+1].(int)
		}
	}
	return 0
}

func TestNewPingerRefuses(t *testing.T) {
	for _, url := range []string{
		"", "secret", "http://h", "http://h/", "ftp://h/secret", "http:///secret", "http://h/secret#x", "http://h/%zz/secret",
		client.SlugURL("http://h/ping", "secret", ""), client.SlugURL("http://h/ping", "secret", ".."), client.SlugURL("http://h/ping", "", "secret"),
		client.SlugURL("", "secret", "x"), "http://h//secret", "http://h/secret/", "http://h/secret//", "http://h/./secret",
		" http://h/secret", "http://h/secret ", "http://h/secret\r\n", "\ufeffhttp://h/secret",
	} {
		if p, err := client.NewPinger(url, nil); err == nil || p != nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", url, err)
		}
	}
	// A success would be the signal that the URL ends in.
	const id, key = "http://h/ping/11111111-2222-4333-8444-555555555555", "http://h/ping/0123456789abcdefghijkl"
	for _, signal := range []string{"start", "fail", "log", "0", "7", "007", "255", "256", "f%61il", "%37"} {
		for _, base := range []string{id, id + "/job", key + "/job", key + "/" + signal, key + "/0123456789abcdefghijkl", "http://h/ping", "http://h/secret"} {
			if p, err := client.NewPinger(base+"/"+signal+"?create=1", nil); err == nil || p != nil || strings.Contains(err.Error(), "0123456789abc") {
				t.Errorf("%s after %s: %v", signal, base, err)
			}
		}
		for _, base := range []string{key, "http://h/fqOOd6-F4MMNuCEnz_TU01"} { // it is a slug
			if _, err := client.NewPinger(base+"/"+signal, nil); err != nil {
				t.Errorf("%s after %s: %v", signal, base, err)
			}
		}
	}
	for _, url := range []string{id, key + "/failure", "http://h/fail/x", "http://h/7/11111111-2222-4333-8444-555555555555", "http://h/start", "http://h/7", "http://h/ping/startup", "http://h/ping/7a"} {
		if _, err := client.NewPinger(url, nil); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	if got, want := client.SlugURL("http://h/a/", "k/é", "b c"), "http://h/a/k%2F%C3%A9/b%20c"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
