package healthchecks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/internal/healthchecks"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const (
	first  = "31365bce-8da9-4729-8ff3-aaa71d56b712"
	second = "803f680d-e89b-492b-82ef-2be7b774a92d"
	third  = "803f680d-e89b-492b-82ef-2be7b774a92e"
)

// current is a response of today's version.
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

// old is a response of version 1, which has no uuid, slug, methods and keyword fields.
const old = `{"checks": [{"name": "Old", "tags": "", "grace": 900, "n_pings": 1, "status": "up", "last_ping": null, "next_ping": null, "timeout": 3600,
 "subject": "SUCCESS", "subject_fail": "FAIL", "ping_url": "https://hc-ping.com/` + first + `", "update_url": "x", "pause_url": "y"}]}`

// rollcall is a response of Rollcall, which has settings of its own.
const rollcall = `{"checks": [{"grace": 60, "timeout": 3600, "tz": "Europe/Riga", "status": "new", "max_runtime": 7200, "alert_after": 3,
 "repeat_every": 14400, "quiet_hours": "22:00-06:00", "uuid": "` + first + `", "channels": ""}]}`

// serve returns the source on a server that responds to these paths with these bodies and to others with 404.
func serve(t *testing.T, answers map[string]string) *healthchecks.Source {
	t.Helper()
	return handle(t, func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		switch {
		case r.Header.Get("X-Api-Key") != "hcw_0000000000000000000000000000":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error": "wrong api key"}`)
		case !ok:
			http.NotFound(w, r)
		default:
			fmt.Fprint(w, answer)
		}
	}, "hcw_0000000000000000000000000000")
}

func handle(t *testing.T, handler http.HandlerFunc, key string) *healthchecks.Source {
	t.Helper()
	s, err := healthchecks.New("https://hc.example.org/", key, &client.Config{HTTPClient: &http.Client{Transport: inMemory(handler)}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// inMemory is a server without a network.
type inMemory http.HandlerFunc

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	m(w, r)
	res := w.Result()
	res.Request = r
	return res, nil
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
	no, empty, never := new(false), new(""), new(time.Duration(0))
	equal(t, "version 3", read(t, serve(t, map[string]string{"/api/v3/checks/": current})), []healthchecks.Check{
		{
			Spec: checks.Spec{
				ID: uuid.MustParse(first), Name: new("Backup"), Slug: new("backup"), Tags: []string{"prod", "db"}, Desc: new("nightly"), Grace: new(time.Hour),
				Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), ManualResume: new(true), Methods: new("POST"),
				StartKW: new("BEGIN"), SuccessKW: new("OK,DONE"), FailureKW: new("ERROR"),
				FilterSubject: no, FilterBody: new(true), FilterHTTPBody: new(true), FilterDefaultFail: new(true),
				MaxRuntime: never, AlertAfter: new(0), RepeatEvery: never, QuietHours: empty, RecordOnly: no, After: empty,
			},
			Channels: []string{"a0000000-0000-0000-0000-000000000001", "a0000000-0000-0000-0000-000000000002"},
		},
		{
			Spec: checks.Spec{
				ID: uuid.MustParse(second), Name: empty, Slug: empty, Tags: []string{}, Desc: empty, Grace: new(time.Minute), Timeout: new(24 * time.Hour),
				ManualResume: no, Methods: empty, StartKW: empty, SuccessKW: empty, FailureKW: empty,
				FilterSubject: no, FilterBody: no, FilterHTTPBody: no, FilterDefaultFail: no,
				MaxRuntime: never, AlertAfter: new(0), RepeatEvery: never, QuietHours: empty, RecordOnly: no, After: empty,
			},
			Paused: true,
		},
	})
	equal(t, "version 1", read(t, serve(t, map[string]string{"/api/v1/checks/": old})), []healthchecks.Check{{
		Spec: checks.Spec{
			ID: uuid.MustParse(first), Name: new("Old"), Slug: empty, Tags: []string{}, Desc: empty, Grace: new(15 * time.Minute), Timeout: new(time.Hour),
			ManualResume: no, Methods: empty, StartKW: empty, SuccessKW: new("SUCCESS"), FailureKW: new("FAIL"),
			FilterSubject: new(true), FilterBody: no, FilterHTTPBody: no, FilterDefaultFail: no,
			MaxRuntime: never, AlertAfter: new(0), RepeatEvery: never, QuietHours: empty, RecordOnly: no, After: empty,
		},
	}})
	equal(t, "Rollcall", read(t, serve(t, map[string]string{"/api/v3/checks/": rollcall})), []healthchecks.Check{{
		Spec: checks.Spec{
			ID: uuid.MustParse(first), Name: empty, Slug: empty, Tags: []string{}, Desc: empty, Grace: new(time.Minute), Timeout: new(time.Hour), TZ: new("Europe/Riga"),
			ManualResume: no, Methods: empty, StartKW: empty, SuccessKW: empty, FailureKW: empty,
			FilterSubject: no, FilterBody: no, FilterHTTPBody: no, FilterDefaultFail: no,
			MaxRuntime: new(2 * time.Hour), AlertAfter: new(3), RepeatEvery: new(4 * time.Hour), QuietHours: new("22:00-06:00"), RecordOnly: no, After: empty,
		},
	}})
	equal(t, "an empty list", read(t, serve(t, map[string]string{"/api/v3/checks/": `{"checks": []}`})), []healthchecks.Check{})
}

func TestResponsesOfAnotherProgram(t *testing.T) {
	for response, want := range map[string]string{
		`<html>`:           "the answer is not that of the API of a Healthchecks server, check the URL",
		`[]`:               "the answer is not that of the API of a Healthchecks server, check the URL",
		`{}`:               "the response has no list of checks",
		`null`:             "the response has no list of checks",
		`{"checks": null}`: "the response has no list of checks",
		`{"checks": {}}`:   "the response has no list of checks",
		`{"checks": [{"name": "x", "unique_key": "ab"}]}`:                                     "the API key is read-only, a read-write one is needed",
		`{"checks": [{"uuid": "` + first + `"}, 5, {"name": "x", "unique_key": "ab"}, null]}`: "the API key is read-only, a read-write one is needed",
	} {
		list, err := serve(t, map[string]string{"/api/v3/checks/": response}).Checks(t.Context())
		_, malformed := errors.AsType[healthchecks.Malformed](err)
		if err == nil || malformed || list != nil || !strings.HasPrefix(err.Error(), "healthchecks: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", response, err, want)
		}
	}
}

// An entry that cannot be read is named, and the others are read.
func TestMalformedEntries(t *testing.T) {
	const good = `{"uuid": "` + first + `", "name": "Good"}`
	for entry, want := range map[string]string{
		`5`:                        `check 2 of the source: it is not a JSON object: number`,
		`["x"]`:                    `check 2 of the source: it is not a JSON object: array`,
		`null`:                     `check 2 of the source: it has no uuid`,
		`{}`:                       `check 2 of the source: it has no uuid`,
		`{"name": "x"}`:            `check 2 of the source, "x": it has no uuid`,
		`{"uuid": 5, "name": "x"}`: `check 2 of the source, "x": uuid has the wrong type: number`,
		`{"uuid": "urn:uuid:` + second + `", "ping_url": "https://hc-ping.com/00000000-0000-0000-0000-000000000000"}`: `check 2 of the source: it has no uuid`,
		`{"uuid": "` + second + `", "name": 5}`:                              `check "" (` + second + `): name has the wrong type: number`,
		`{"name": "x", "slug": [], "uuid": "` + second + `"}`:                `check "x" (` + second + `): slug has the wrong type: array`,
		`{"uuid": "` + second + `", "manual_resume": "yes"}`:                 `check "" (` + second + `): manual_resume has the wrong type: string`,
		`{"uuid": "` + second + `", "schedule": {}}`:                         `check "" (` + second + `): schedule has the wrong type: object`,
		`{"uuid": "` + second + `", "timeout": 60.5}`:                        `check "" (` + second + `): timeout is not a whole number of seconds: 60.5`,
		`{"uuid": "` + second + `", "timeout": "soon"}`:                      `check "" (` + second + `): timeout is not a whole number of seconds: "soon"`,
		`{"uuid": "` + second + `", "grace": 1e99}`:                          `check "" (` + second + `): grace is not a whole number of seconds: 1e99`,
		`{"uuid": "` + second + `", "grace": true}`:                          `check "" (` + second + `): grace is not a whole number of seconds: true`,
		`{"ping_url": "https://hc-ping.com/` + strings.ToUpper(first) + `"}`: `check "" (` + first + `): another check has the same uuid`,
	} {
		list, err := serve(t, map[string]string{"/api/v3/checks/": `{"checks": [` + good + `, ` + entry + `, {"uuid": "` + third + `"}]}`}).Checks(t.Context())
		malformed, _ := errors.AsType[healthchecks.Malformed](err)
		if len(list) != 2 || *list[0].Name != "Good" || list[1].ID.String() != third || len(malformed) != 1 || malformed[0].Error() != want || err.Error() != "healthchecks: "+want {
			t.Errorf("%s: %d checks and %v, want %s", entry, len(list), err, want)
		}
	}
	list, err := serve(t, map[string]string{"/api/v3/checks/": `{"checks": [1, 2, 3]}`}).Checks(t.Context())
	if want := "healthchecks: check 1 of the source: it is not a JSON object: number (and 2 more)"; len(list) != 0 || err == nil || err.Error() != want {
		t.Errorf("%v, %v, want %s", list, err, want)
	}
	s := serve(t, map[string]string{"/api/v3/channels/": `{"channels": [{"id": 5, "name": "odd"}, {"id": "a", "name": "Ops", "kind": "email"}]}`})
	channels, err := s.Channels(t.Context())
	equal(t, "integrations", channels, []healthchecks.Channel{{ID: "a", Name: "Ops", Kind: "email"}})
	if want := `healthchecks: integration 1 of the source, "odd": id has the wrong type: number`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestRetries(t *testing.T) {
	for _, test := range []struct {
		statuses []int
		requests int
		want     string
	}{
		{[]int{429, 503, 504, 502}, 5, ""},
		{[]int{503, 503, 503, 503, 503}, 5, "service unavailable (status 503) (after 5 tries)"},
		{[]int{500}, 2, ""},
		{[]int{401}, 1, "check the API key"},
		{[]int{403}, 1, "forbidden (status 403)"},
		{[]int{404, 404}, 3, ""}, // versions 3 and 2
		{[]int{404, 503, 404, 503}, 5, ""},
		{[]int{301}, 1, `if "https://elsewhere.example.org" is the right server, use its URL`},
	} {
		t.Run(fmt.Sprint(test.statuses), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				s := handle(t, func(w http.ResponseWriter, r *http.Request) {
					requests++
					if requests > len(test.statuses) {
						fmt.Fprint(w, current)
						return
					}
					w.Header().Set("Retry-After", "7")
					w.Header().Set("Location", "https://elsewhere.example.org/x")
					w.WriteHeader(test.statuses[requests-1])
				}, "hcw_0000000000000000000000000000")
				began := time.Now()
				_, err := s.Checks(t.Context())
				if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("%v, want %q", err, test.want)
				}
				equal(t, "requests", requests, test.requests)
				if statuses := test.statuses; statuses[0] == 429 || statuses[0] == 503 {
					equal(t, "pauses", time.Since(began), 4*7*time.Second)
				}
			})
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := serve(t, nil).Checks(ctx); !errors.Is(err, context.Canceled) {
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
	dbtest.EachAtRelease(t, func(t *testing.T, db dbtest.DB) {
		now := time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
		mon, err := monitor.New(db.Open(t), &monitor.Config{Now: func() time.Time { return now }, Channels: standard.Kinds(), DeliveredElsewhere: true})
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
			result, err := healthchecks.Import(t.Context(), mon, project.ID(), list, &o)
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

		// An import restores the settings of the source, but it does not pause a check that gets pings here.
		channel, err := project.CreateChannel(t.Context(), channels.Channel{Kind: "email", Name: "ops", Settings: map[string]string{"to": "ops@example.org"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mon.Project(c.ProjectID).Update(t.Context(), c.ID, checks.Spec{Slug: new("other"), Timeout: new(time.Hour), Channels: new("*")}); err != nil {
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

// If an import breaks off between creating and pausing a check, the next one pauses it.
func TestImportBrokenOff(t *testing.T) {
	mon, project := open(t, checks.ProjectSpec{Name: "jobs", MaxChecks: 1})
	list := read(t, serve(t, map[string]string{"/api/v3/checks/": current}))
	if _, err := mon.Project(project.ID).Create(t.Context(), list[1].Spec); err != nil {
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

// Nothing is imported if a check is refused, unless SkipInvalid is set.
func TestImportRefused(t *testing.T) {
	mon, project := open(t, checks.ProjectSpec{Name: "jobs"})
	other, err := mon.OpenProject(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Create(t.Context(), checks.Spec{ID: uuid.MustParse(first)}); err != nil {
		t.Fatal(err)
	}
	bad := strings.Replace(current, `"timeout": 86400}`, `"timeout": 86400}, {"uuid": "`+third+`", "name": "Bad", "timeout": 5}`, 1)
	list := read(t, serve(t, map[string]string{"/api/v3/checks/": bad}))
	malformed := healthchecks.Malformed{{Entry: "check 9", Err: errors.New("it has no uuid")}}
	result, err := healthchecks.Import(t.Context(), mon, project.ID, list, &healthchecks.Options{Malformed: malformed})
	if !errors.Is(err, healthchecks.ErrRefused) {
		t.Error(err)
	}
	var texts []string
	for _, r := range result.Refused {
		texts = append(texts, r.Error())
	}
	equal(t, "refused", texts, []string{
		"check 9 of the source: it has no uuid",
		`check "Backup" (` + first + `): another project has a check with this uuid`,
		`check "Bad" (` + third + `): timeout is too small: 5, the minimum is 60`,
	})
	count := func() int {
		t.Helper()
		all, err := checks.Stored(mon.Project(project.ID).Checks(t.Context(), checks.Query{}))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	equal(t, "checks", count(), 0)
	if _, err := healthchecks.Import(t.Context(), mon, project.ID, list[1:2], &healthchecks.Options{Malformed: malformed}); !errors.Is(err, healthchecks.ErrRefused) {
		t.Errorf("one check that is valid and one that is malformed: %v", err)
	}
	equal(t, "checks", count(), 0)
	result, err = healthchecks.Import(t.Context(), mon, project.ID, list, &healthchecks.Options{SkipInvalid: true, Malformed: malformed})
	if err != nil {
		t.Error(err)
	}
	equal(t, "result", result.String(), "1 created, 0 updated, 0 unchanged, 3 refused")
	equal(t, "checks", count(), 1)
}

func open(t *testing.T, spec checks.ProjectSpec) (*monitor.Monitor, checks.Project) {
	t.Helper()
	mon, err := monitor.New(dbtest.SQLite(t).Open(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	project, _, err := mon.Projects().Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return mon, project
}

// TestImportChanges checks what a dry run says about each check.
func TestImportChanges(t *testing.T) {
	mon, project := open(t, checks.ProjectSpec{Name: "jobs"})
	list := read(t, serve(t, map[string]string{"/api/v3/checks/": current}))
	plan := func() []healthchecks.Change {
		t.Helper()
		result, err := healthchecks.Import(t.Context(), mon, project.ID, list, &healthchecks.Options{DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		return result.Changes
	}
	backup := healthchecks.Change{ID: uuid.MustParse(first), Name: "Backup", Action: declare.Create}
	paused := healthchecks.Change{ID: uuid.MustParse(second), Action: declare.Create, Paused: true}
	equal(t, "at first", plan(), []healthchecks.Change{backup, paused})
	if _, err := healthchecks.Import(t.Context(), mon, project.ID, list, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := mon.Project(project.ID).Update(t.Context(), backup.ID, checks.Spec{Name: new("Other"), Slug: new("other")}); err != nil {
		t.Fatal(err)
	}
	backup.Action = declare.Update
	backup.Fields = []declare.Field{{Name: "name", Old: `"Other"`, New: `"Backup"`}, {Name: "slug", Old: `"other"`, New: `"backup"`}}
	paused.Action, paused.Paused = "", false
	equal(t, "after a change", plan(), []healthchecks.Change{backup, paused})
}
