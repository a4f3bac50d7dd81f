package wire_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/client/wire"
)

func TestTimes(t *testing.T) {
	riga := time.FixedZone("", 2*3600)
	instant := time.Date(2026, 1, 2, 5, 4, 5, 6_007_999, riga)
	type document struct {
		Seconds *wire.Time
		Null    *wire.Time
		Micros  wire.Micros
	}
	data, err := json.Marshal(document{wire.NewTime(instant), wire.NewTime(time.Time{}), wire.Micros{Time: instant}})
	const want = `{"Seconds":"2026-01-02T03:04:05+00:00","Null":null,"Micros":"2026-01-02T03:04:05.006007+00:00"}`
	if err != nil || string(data) != want {
		t.Fatalf("%s, %v, want %s", data, err, want)
	}
	var got document
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	seconds := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if diff := cmp.Diff(document{&wire.Time{Time: seconds}, nil, wire.Micros{Time: seconds.Add(6007 * time.Microsecond)}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for text, want := range map[string]time.Time{
		`"2026-01-02T03:04:05Z"`:          seconds,
		`"2026-01-02T05:04:05+02:00"`:     seconds,
		`"2026-01-02T03:04:05.000+00:00"`: seconds,
		`null`:                            {},
	} {
		var got wire.Time
		if err := json.Unmarshal([]byte(text), &got); err != nil || !got.Time.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{`5`, `""`, `"2026-01-02"`, `"2026-01-02T03:04:05"`, `{}`, `"2026-01-02 03:04:05Z"`} {
		var got wire.Micros
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
	if _, err := json.Marshal(wire.Time{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
		t.Error("the year 10000 was written")
	}
}

// TestSettingsOfCheck checks that the document of a check has every setting.
func TestSettingsOfCheck(t *testing.T) {
	var spec checks.Spec
	for _, s := range checks.AllSettings() {
		s.Set(&spec, s.Example)
	}
	c, err := checks.New(uuid.New(), spec, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, schedule := range []string{"* * * * *", ""} {
		c.Schedule = schedule
		var written, read wire.Check
		written.SetSettings(c.Settings)
		data, err := json.Marshal(written)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := errors.Join(json.Unmarshal(data, &fields), json.Unmarshal(data, &read)); err != nil {
			t.Fatal(err)
		}
		want := c.Settings.Spec()
		for _, s := range checks.AllSettings() {
			if _, ok := fields[s.Name]; ok != (s.Value(want) != nil) {
				t.Errorf("%s is in the document: %v: %s", s.Name, ok, data)
			}
		}
		if diff := cmp.Diff(want, read.Settings().Spec()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestWindowRequests refuses what a request would change.
func TestWindowRequests(t *testing.T) {
	for want, w := range map[string]gate.Window{
		`tags has an item with a blank: "a b"`:            {Duration: time.Minute, Tags: []string{"a b"}},
		"duration is not a whole number of seconds: 1.5s": {Duration: 1500 * time.Millisecond},
	} {
		if _, err := wire.NewWindowRequest(w); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestDocuments holds the order of the keys.
func TestDocuments(t *testing.T) {
	now := wire.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	for want, document := range map[string]any{
		`{"name":"","slug":"","tags":"","desc":"","grace":60,"timeout":60,"n_pings":0,"status":"new","started":false,"last_ping":null,` +
			`"next_ping":null,"manual_resume":false,"methods":"","start_kw":"","success_kw":"","failure_kw":"","filter_subject":false,` +
			`"filter_body":false,"filter_http_body":false,"filter_default_fail":false,"badge_url":"b","unique_key":"u"}`: wire.Check{Grace: 60, Timeout: 60, Status: "new", BadgeURL: "b", UniqueKey: "u"},
		`{"name":"","slug":"","tags":"","desc":"","grace":60,"schedule":"* * * * *","tz":"UTC","n_pings":1,"status":"up","started":false,` +
			`"last_ping":"2026-01-02T03:04:05+00:00","next_ping":"2026-01-02T03:04:05+00:00","manual_resume":false,"methods":"","start_kw":"",` +
			`"success_kw":"","failure_kw":"","filter_subject":false,"filter_body":false,"filter_http_body":false,"filter_default_fail":false,` +
			`"badge_url":"b","uuid":"i","ping_url":"p","update_url":"u","pause_url":"a","resume_url":"r","channels":"","subject":"","subject_fail":""}`: wire.Check{
			Grace: 60, Schedule: "* * * * *", TZ: "UTC", NPings: 1, Status: "up", LastPing: now, NextPing: now, BadgeURL: "b",
			UUID: "i", PingURL: "p", UpdateURL: "u", PauseURL: "a", ResumeURL: "r", Channels: new(""), Subject: new(""), SubjectFail: new(""),
		},
		`{"name":"","slug":"","tags":"","desc":"","grace":60,"timeout":60,"tz":"UTC","n_pings":0,"status":"new","started":false,"last_ping":null,` +
			`"next_ping":null,"manual_resume":false,"methods":"","start_kw":"","success_kw":"","failure_kw":"","filter_subject":false,` +
			`"filter_body":false,"filter_http_body":false,"filter_default_fail":false,"max_runtime":7200,"alert_after":2,"repeat_every":3600,` +
			`"quiet_hours":"22:00-06:00","badge_url":"b"}`: wire.Check{
			Grace: 60, Timeout: 60, TZ: "UTC", Status: "new", MaxRuntime: 7200, AlertAfter: 2, RepeatEvery: 3600, QuietHours: "22:00-06:00", BadgeURL: "b",
		},
		`{"pings":[{"type":"start","date":"2026-01-02T03:04:05.000000+00:00","n":1,"scheme":"http","remote_addr":"192.0.2.1","method":"GET","ua":"","rid":null,"body_url":null}]}`: wire.Pings{
			Pings: []wire.Ping{{Type: "start", Date: wire.Micros{Time: now.Time}, N: 1, Scheme: "http", RemoteAddr: "192.0.2.1", Method: "GET"}},
		},
		`{"type":"success","date":"2026-01-02T03:04:05.000000+00:00","n":2,"scheme":"","remote_addr":"","method":"","ua":"","rid":"r","duration":0.07,"body_url":"b"}`: wire.Ping{
			Type: "success", Date: wire.Micros{Time: now.Time}, N: 2, RID: new("r"), Duration: new(0.07), BodyURL: new("b"),
		},
		`[{"timestamp":"2026-01-02T03:04:05+00:00","up":0}]`:                                          []wire.Flip{{Timestamp: *now}},
		`{"channels":[{"id":"i","name":"n","kind":"email"}]}`:                                         wire.Channels{Channels: []wire.Channel{{ID: "i", Name: "n", Kind: "email"}}},
		`{"badges":{"*":{"svg":"a","svg3":"b","json":"c","json3":"d","shields":"e","shields3":"f"}}}`: wire.Badges{Badges: map[string]wire.BadgeSet{"*": {"a", "b", "c", "d", "e", "f"}}},
		`{"checks":[]}`:    wire.Checks{Checks: []wire.Check{}},
		`{"error":"text"}`: wire.Error{Error: "text"},
		`{"error":"grace is not a number","field":"grace"}`: wire.Error{Error: "grace is not a number", Field: "grace"},
		`{"status":"ok"}`: wire.Status{Status: "ok"},
	} {
		data, err := json.Marshal(document)
		if err != nil || string(data) != want {
			t.Errorf("%v\n got %s\nwant %s", err, data, want)
		}
	}
}
