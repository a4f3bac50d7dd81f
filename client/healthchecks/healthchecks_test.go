package healthchecks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/client/healthchecks"
	"github.com/rollcall-dev/rollcall/pings"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const (
	first  = "31365bce-8da9-4729-8ff3-aaa71d56b712"
	second = "803f680d-e89b-492b-82ef-2be7b774a92d"
)

// current is an answer in the form of today.
const current = `{"checks": [
{"name": "Backup", "slug": "backup", "tags": "prod db", "desc": "nightly", "grace": 3600, "n_pings": 4, "status": "up", "started": true,
 "last_ping": "2026-01-02T03:04:05+00:00", "next_ping": "2026-01-03T03:00:00+00:00", "manual_resume": true, "methods": "POST", "subject": "", "subject_fail": "",
 "start_kw": "BEGIN", "success_kw": "OK,DONE", "failure_kw": "ERROR", "filter_subject": false, "filter_body": true, "filter_http_body": true, "filter_default_fail": true,
 "badge_url": "https://hc.example.org/b/2/x.svg", "uuid": "` + first + `", "ping_url": "https://hc-ping.com/` + first + `", "channels": "a0000000-0000-0000-0000-000000000001,a0000000-0000-0000-0000-000000000002",
 "schedule": "0 3 * * *", "tz": "Europe/Riga", "last_duration": 7},
{"name": "", "slug": "", "tags": "", "desc": "", "grace": 60, "n_pings": 0, "status": "paused", "last_ping": null, "next_ping": null, "manual_resume": false, "methods": "",
 "start_kw": "", "success_kw": "", "failure_kw": "", "filter_subject": false, "filter_body": false, "filter_http_body": false, "filter_default_fail": false,
 "uuid": "` + second + `", "ping_url": "https://hc-ping.com/` + second + `", "channels": "", "timeout": 86400}
]}`

// old is an answer in the form of version 1: without uuid, slug, methods and keyword fields.
const old = `{"checks": [{"name": "Old", "tags": "", "grace": 900, "n_pings": 1, "status": "up", "last_ping": null, "next_ping": null, "timeout": 3600,
 "subject": "SUCCESS", "subject_fail": "FAIL", "ping_url": "https://hc-ping.com/` + first + `", "update_url": "x", "pause_url": "y"}]}`

// serve answers requests for these paths with these bodies, and all others with 404.
func serve(t *testing.T, answers map[string]string) *healthchecks.Source {
	t.Helper()
	return handle(t, func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		switch {
		case r.Header.Get("X-Api-Key") != "key":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error": "wrong api key"}`)
		case !ok:
			http.NotFound(w, r)
		default:
			fmt.Fprint(w, answer)
		}
	}, "key")
}

func handle(t *testing.T, handler http.HandlerFunc, key string) *healthchecks.Source {
	t.Helper()
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	s, err := healthchecks.New(web.URL+"/", key, &healthchecks.Config{HTTPClient: web.Client(), Wait: func(context.Context, time.Duration) {}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, s *healthchecks.Source) []healthchecks.Check {
	t.Helper()
	list, err := s.Checks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestChecks(t *testing.T) {
	no, empty := new(false), new("")
	equal(t, "version 3", read(t, serve(t, map[string]string{"/api/v3/checks/": current})), []healthchecks.Check{
		{
			Spec: checks.Spec{
				ID: uuid.MustParse(first), Name: new("Backup"), Slug: new("backup"), Tags: new("prod db"), Desc: new("nightly"), Grace: new(time.Hour),
				Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), ManualResume: new(true), Methods: new("POST"),
				StartKW: new("BEGIN"), SuccessKW: new("OK,DONE"), FailureKW: new("ERROR"),
				FilterSubject: no, FilterBody: new(true), FilterHTTPBody: new(true), FilterDefaultFail: new(true),
			},
			Channels: []string{"a0000000-0000-0000-0000-000000000001", "a0000000-0000-0000-0000-000000000002"},
		},
		{
			Spec: checks.Spec{
				ID: uuid.MustParse(second), Name: empty, Slug: empty, Tags: empty, Desc: empty, Grace: new(time.Minute), Timeout: new(24 * time.Hour),
				ManualResume: no, Methods: empty, StartKW: empty, SuccessKW: empty, FailureKW: empty,
				FilterSubject: no, FilterBody: no, FilterHTTPBody: no, FilterDefaultFail: no,
			},
			Paused: true,
		},
	})
	equal(t, "version 1", read(t, serve(t, map[string]string{"/api/v1/checks/": old})), []healthchecks.Check{{
		Spec: checks.Spec{
			ID: uuid.MustParse(first), Name: new("Old"), Slug: empty, Tags: empty, Desc: empty, Grace: new(15 * time.Minute), Timeout: new(time.Hour),
			ManualResume: no, Methods: empty, StartKW: empty, SuccessKW: new("SUCCESS"), FailureKW: new("FAIL"),
			FilterSubject: new(true), FilterBody: no, FilterHTTPBody: no, FilterDefaultFail: no,
		},
	}})
	equal(t, "an empty list", read(t, serve(t, map[string]string{"/api/v3/checks/": `{"checks": []}`})), []healthchecks.Check{})
}

func TestAnswersThatAreNone(t *testing.T) {
	for answer, want := range map[string]string{
		`<html>`: "the answer is not what Healthchecks sends",
		`{}`:     "the answer has no list of checks",
		`{"checks": [{"name": "x", "unique_key": "ab"}]}`:                                                                          "check 1 of 1: the answer has no uuid: the API key is read-only",
		`{"checks": [{"name": "x"}]}`:                                                                                              "check 1 of 1: the answer has no uuid",
		`{"checks": [{"uuid": "` + first + `", "timeout": 60.5}]}`:                                                                 "check 1 of 1: timeout is not a whole number of seconds: 60.5",
		`{"checks": [{"uuid": "` + first + `", "grace": 1e99}]}`:                                                                   "check 1 of 1: grace is not a whole number of seconds: 1e99",
		`{"checks": [{"uuid": "` + first + `"}, {"ping_url": "https://hc-ping.com/` + strings.ToUpper(first) + `"}]}`:              "check 2 of 2: another check has the same uuid",
		`{"checks": [{"uuid": "urn:uuid:` + first + `", "ping_url": "https://hc-ping.com/00000000-0000-0000-0000-000000000000"}]}`: "check 1 of 1: the answer has no uuid",
	} {
		_, err := serve(t, map[string]string{"/api/v3/checks/": answer}).Checks(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), "healthchecks: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", answer, err, want)
		}
	}
}

func TestRetries(t *testing.T) {
	var statuses []int
	requests := 0
	s := handle(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		if len(statuses) > 0 {
			status := statuses[0]
			statuses = statuses[1:]
			w.Header().Set("Retry-After", "3600")
			w.Header().Set("Location", "https://elsewhere.example.org/x")
			w.WriteHeader(status)
			return
		}
		fmt.Fprint(w, current)
	}, "key")
	for _, test := range []struct {
		statuses []int
		requests int
		want     string
	}{
		{[]int{429, 503, 500, 502}, 5, ""},
		{[]int{503, 503, 503, 503, 503}, 5, "503 Service Unavailable"},
		{[]int{401}, 1, "is the API key right?"},
		{[]int{403}, 1, "403 Forbidden"},
		{[]int{404, 404}, 3, ""}, // versions 3 and 2
		{[]int{301}, 1, "redirects to https://elsewhere.example.org; give that address"},
	} {
		statuses, requests = test.statuses, 0
		_, err := s.Checks(t.Context())
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%v: %v, want %q", test.statuses, err, test.want)
		}
		equal(t, "requests", requests, test.requests)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Checks(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestNew(t *testing.T) {
	for _, url := range []string{"", "hc.example.org", "ftp://x", "http://", "http://u:pw@h", "http://h?a=b", "http://h\n"} {
		if _, err := healthchecks.New(url, "s3cret", nil); err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: %v", url, err)
		}
	}
	for _, key := range []string{"", "s3cret\n", "s3 cret"} {
		if _, err := healthchecks.New("https://hc.example.org", key, nil); err == nil || strings.Contains(err.Error(), "s3") {
			t.Errorf("%q: %v", key, err)
		}
	}
}

func TestImport(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		now := time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
		mon, err := monitor.New(db.Open(t), &monitor.Config{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		project, err := mon.OpenProject(t.Context(), "jobs")
		if err != nil {
			t.Fatal(err)
		}
		list := read(t, serve(t, map[string]string{"/api/v3/checks/": current}))
		run := func(what string, o healthchecks.Options, want string) {
			t.Helper()
			result, err := healthchecks.Import(t.Context(), mon, project.ID, list, &o)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			equal(t, what, result.String(), want)
		}
		check := func(id string) checks.Check {
			t.Helper()
			c, err := mon.Check(t.Context(), uuid.MustParse(id))
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		run("dry run", healthchecks.Options{DryRun: true}, "2 created, 0 updated, 0 unchanged, 0 refused")
		var progress []string
		run("first", healthchecks.Options{Progress: func(done, total int) { progress = append(progress, fmt.Sprint(done, "/", total)) }},
			"2 created, 0 updated, 0 unchanged, 0 refused")
		equal(t, "progress", progress, []string{"1/2", "2/2"})
		equal(t, "paused", []checks.Status{check(first).Status(now), check(second).Status(now)}, []checks.Status{"new", "paused"})
		c := check(first)
		equal(t, "settings", []any{c.Name, c.Slug, c.Schedule, c.TZ, c.Grace, c.Methods, c.FailureKW, c.FilterDefaultFail, c.ManualResume},
			[]any{"Backup", "backup", "0 3 * * *", "Europe/Riga", time.Hour, "POST", "ERROR", true, true})
		run("again", healthchecks.Options{}, "0 created, 0 updated, 2 unchanged, 0 refused")

		// What has changed here goes back to what the source has, but a check that is pinged here is not paused.
		channel, err := mon.CreateChannel(t.Context(), project.ID, "email", "ops", map[string]string{"to": "ops@example.org"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mon.Update(t.Context(), c.ID, checks.Spec{Slug: new("other"), Timeout: new(time.Hour), Channels: new("*")}); err != nil {
			t.Fatal(err)
		}
		if _, err := mon.Ping(t.Context(), uuid.MustParse(second), pings.Signal{}); err != nil {
			t.Fatal(err)
		}
		run("after changes", healthchecks.Options{}, "0 created, 1 updated, 1 unchanged, 0 refused")
		equal(t, "not paused again", check(second).Status(now), checks.StatusUp)
		equal(t, "settings", []any{check(first).Slug, check(first).Schedule}, []any{"backup", "0 3 * * *"})
		equal(t, "channels stay", check(first).Channels, []uuid.UUID{channel.ID})
	})
}

// A check that is made but was not paused yet, because the import broke off there, is paused by the next one.
func TestImportBrokenOff(t *testing.T) {
	mon, project := open(t, monitor.ProjectSpec{Name: "jobs", MaxChecks: 1})
	list := read(t, serve(t, map[string]string{"/api/v3/checks/": current}))
	if _, err := mon.Create(t.Context(), project.ID, list[1].Spec); err != nil {
		t.Fatal(err)
	}
	result, err := healthchecks.Import(t.Context(), mon, project.ID, []healthchecks.Check{list[1], list[0]}, nil)
	if !errors.Is(err, checks.ErrCheckLimit) {
		t.Error(err)
	}
	equal(t, "result", result.String(), "0 created, 1 updated, 0 unchanged, 0 refused")
	c, err := mon.Check(t.Context(), uuid.MustParse(second))
	if err != nil || c.Stored != checks.StatusPaused {
		t.Error(c.Stored, err)
	}
}

// Nothing is imported unless everything can be, or that is asked for.
func TestImportRefused(t *testing.T) {
	mon, project := open(t, monitor.ProjectSpec{Name: "jobs"})
	other, err := mon.OpenProject(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mon.Create(t.Context(), other.ID, checks.Spec{ID: uuid.MustParse(first)}); err != nil {
		t.Fatal(err)
	}
	const third = "803f680d-e89b-492b-82ef-2be7b774a92e"
	bad := strings.Replace(current, `"timeout": 86400}`, `"timeout": 86400}, {"uuid": "`+third+`", "name": "Bad", "timeout": 5}`, 1)
	list := read(t, serve(t, map[string]string{"/api/v3/checks/": bad}))
	result, err := healthchecks.Import(t.Context(), mon, project.ID, list, nil)
	if !errors.Is(err, healthchecks.ErrRefused) {
		t.Error(err)
	}
	var texts []string
	for _, r := range result.Refused {
		texts = append(texts, r.Error())
	}
	equal(t, "refused", texts, []string{
		`check "Backup" (` + first + `): another project has a check with this uuid`,
		`check "Bad" (` + third + `): timeout is too small: 5, the minimum is 60`,
	})
	count := func() int {
		t.Helper()
		all, err := mon.Checks(t.Context(), project.ID, monitor.CheckQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	equal(t, "checks", count(), 0)
	if _, err := healthchecks.Import(t.Context(), mon, project.ID, list, &healthchecks.Options{SkipInvalid: true}); err != nil {
		t.Error(err)
	}
	equal(t, "checks", count(), 1)
}

func open(t *testing.T, spec monitor.ProjectSpec) (*monitor.Monitor, checks.Project) {
	t.Helper()
	mon, err := monitor.New(dbtest.SQLite(t).Open(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	project, _, err := mon.CreateProject(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return mon, project
}
