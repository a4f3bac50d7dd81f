package client_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
)

// everything sets every field of server/API.md section 4.3.
func everything() checks.Spec {
	return checks.Spec{
		Name: new("Nightly <backup> é"), Slug: new("nightly"), Tags: []string{"", "prod", "", "db", "prod", ""}, Desc: new("line\nline"),
		Timeout: new(2 * time.Hour), Grace: new(90 * time.Second), MaxRuntime: new(3 * time.Hour), ManualResume: new(true), Methods: new("POST"), Channels: new("*"),
		StartKW: new("begin"), SuccessKW: new("done,ok"), FailureKW: new("error"),
		FilterSubject: new(true), FilterBody: new(true), FilterHTTPBody: new(true), FilterDefaultFail: new(true),
	}
}

func TestCheckIsWhatWasSet(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	channel, err := s.mon.Project(s.project.ID).CreateChannel(t.Context(), channels.Channel{Kind: channels.Email, Name: "Ops", Settings: map[string]string{"to": "ops@example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	got := s.create(everything())
	id := got.ID.String()
	want := checks.Snapshot{
		ID: got.ID, UniqueKey: checks.UniqueKey(got.ID),
		Settings: checks.Settings{
			Name: "Nightly <backup> é", Slug: "nightly", Tags: everything().Tags, Desc: "line\nline",
			Timeout: 2 * time.Hour, Grace: 90 * time.Second, MaxRuntime: 3 * time.Hour, ManualResume: true, Methods: "POST",
			StartKW: "begin", SuccessKW: "done,ok", FailureKW: "error",
			FilterSubject: true, FilterBody: true, FilterHTTPBody: true, FilterDefaultFail: true,
		},
		Status: checks.StatusNew, Channels: []uuid.UUID{channel.ID},
		PingURL: s.url + "/ping/" + id, BadgeURL: got.BadgeURL,
	}
	equal(t, "created", got, want)
	equal(t, "read", s.get(got), want)
	if !strings.HasPrefix(got.BadgeURL, s.url+"/b/") || got.ID == uuid.Nil {
		t.Errorf("badge %q, id %v", got.BadgeURL, got.ID)
	}

	got, err = s.client.Update(t.Context(), got.ID, checks.Spec{
		Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Tags: []string{}, Channels: new(""), Methods: new(""), FilterHTTPBody: new(false),
	})
	if err != nil {
		t.Fatal(err)
	}
	want.Timeout, want.Schedule, want.TZ = 0, "0 3 * * *", "Europe/Riga"
	want.Tags, want.Channels, want.Methods, want.FilterHTTPBody = nil, nil, "", false
	equal(t, "updated", got, want)

	if err := s.pinger(got.PingURL).Success(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	want.Status, want.NPings, want.LastPing = checks.StatusUp, 1, noon.Truncate(time.Second)
	want.NextPing = time.Date(2026, 3, 16, 1, 0, 0, 0, time.UTC)
	equal(t, "pinged", s.get(got), want)

	// A read-only key does not reveal these (server/API.md section 2.1).
	want.ID, want.PingURL = uuid.Nil, ""
	read, err := s.reader.CheckByUniqueKey(t.Context(), want.UniqueKey)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "with a read-only key", read, want)
}

func TestList(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	for _, spec := range []checks.Spec{
		{Name: new("a"), Slug: new("x"), Tags: []string{"t", "&", "u/%3F"}},
		{Name: new("b"), Slug: new("x"), Tags: []string{"t"}},
		{Name: new("c"), Slug: new("y"), Tags: []string{"&", "é"}},
	} {
		s.create(spec)
	}
	for _, test := range []struct {
		query checks.Query
		want  string
	}{
		{checks.Query{}, "abc"},
		{checks.Query{Slug: "x"}, "ab"},
		{checks.Query{Slug: "none"}, ""},
		{checks.Query{Slug: "x&tag=t"}, ""},
		{checks.Query{Tags: []string{"t"}}, "ab"},
		{checks.Query{Tags: []string{"t", "&"}}, "a"},
		{checks.Query{Tags: []string{"u/%3F", ""}}, "a"},
		{checks.Query{Slug: "y", Tags: []string{"é"}}, "c"},
		{checks.Query{Tags: []string{"\xff\x00"}}, ""},
	} {
		for _, c := range []*client.Client{s.client, s.reader} {
			list, err := c.Checks(t.Context(), test.query)
			got := ""
			for _, check := range list {
				got += check.Name
			}
			if err != nil || got != test.want {
				t.Errorf("%+v: %q, %v, want %q", test.query, got, err, test.want)
			}
		}
	}
	if got, err := s.client.CheckBySlug(t.Context(), "y"); err != nil || got.Name != "c" {
		t.Errorf("by slug: %q, %v, want c", got.Name, err)
	}
}

func TestUpsert(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	spec := checks.Spec{Slug: new("job"), Timeout: new(time.Hour), Grace: new(time.Minute), Tags: []string{"a"}, Name: new("n")}
	every := []checks.UniqueField{checks.UniqueName, checks.UniqueSlug, checks.UniqueTags, checks.UniqueTimeout, checks.UniqueGrace}
	first, created, err := s.client.Upsert(t.Context(), spec, every...)
	if err != nil || !created {
		t.Fatal(created, err)
	}
	spec.Desc = new("changed")
	second, created, err := s.client.Upsert(t.Context(), spec, every...)
	if err != nil || created || second.ID != first.ID || second.Desc != "changed" {
		t.Errorf("created %t, %v, %+v", created, err, second)
	}
	if _, created, err = s.client.Upsert(t.Context(), spec); err != nil || !created {
		t.Errorf("without unique: created %t, %v", created, err)
	}
	_, _, err = s.client.Upsert(t.Context(), spec, "desc")
	if field, ok := errors.AsType[*checks.FieldError](err); !ok || field.Field != "unique" {
		t.Errorf("unknown unique: %v", err)
	}
}

func TestLifeOfACheck(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	c := s.create(checks.Spec{Timeout: new(time.Hour), Grace: new(time.Minute)})
	ctx := t.Context()
	if _, err := s.client.Resume(ctx, c.ID); !errors.Is(err, checks.ErrNotPaused) {
		t.Errorf("resume of a check that is not paused: %v", err)
	}
	if got, err := s.client.Pause(ctx, c.ID); err != nil || got.Status != checks.StatusPaused {
		t.Errorf("paused: %v, %v", got.Status, err)
	}
	if got, err := s.client.Resume(ctx, c.ID); err != nil || got.Status != checks.StatusNew {
		t.Errorf("resumed: %v, %v", got.Status, err)
	}
	p := s.pinger(c.PingURL)
	up := s.clock.Now()
	if err := p.Success(ctx, nil); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(90 * time.Minute)
	if got := s.get(c); got.Status != checks.StatusDown || !got.NextPing.IsZero() {
		t.Errorf("overdue: %v, %v", got.Status, got.NextPing)
	}
	down := up.Add(61 * time.Minute)
	second := func(at time.Time) time.Time { return at.Truncate(time.Second) }
	all := []flips.Flip{{At: second(down), Up: false}, {At: second(up), Up: true}}
	for name, test := range map[string]struct {
		window flips.Range
		want   []flips.Flip
	}{
		"all":               {flips.Range{}, all},
		"last hour":         {flips.Range{Last: time.Hour}, all[:1]},
		"last half second":  {flips.Range{Last: time.Second / 2}, nil},
		"from":              {flips.Range{From: up.Add(time.Minute)}, all[:1]},
		"until":             {flips.Range{Until: down}, all[1:]},
		"none":              {flips.Range{From: up.Add(time.Minute), Until: up.Add(2 * time.Minute)}, nil},
		"parts of a second": {flips.Range{From: up.Add(time.Millisecond), Until: up.Add(2 * time.Millisecond)}, all[1:]},
	} {
		if name == "until" {
			test.window.Until = down.Truncate(time.Second)
		}
		got, err := checks.Collect(s.client.Flips(ctx, c.ID, test.window))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		equal(t, name, got, test.want)
		got, err = checks.Collect(s.reader.FlipsByUniqueKey(ctx, c.UniqueKey, test.window))
		if err != nil {
			t.Errorf("%s by unique key: %v", name, err)
		}
		equal(t, name+" by unique key", got, test.want)
	}
	want, err := s.mon.Project(s.project.ID).Stats(ctx, c.ID, up, down)
	if err != nil || len(want) == 0 || want[0].Runs == 0 {
		t.Fatalf("statistics of the monitor: %+v, error %v", want, err)
	}
	got, err := s.client.Stats(ctx, c.ID, up, down)
	if err != nil {
		t.Error(err)
	}
	equal(t, "statistics", got, want)
	if got, err = s.reader.StatsByUniqueKey(ctx, c.UniqueKey, up, down); err != nil {
		t.Error(err)
	}
	equal(t, "statistics by unique key", got, want)
	if got, err := s.client.Delete(ctx, c.ID); err != nil || got.ID != c.ID || got.Status != checks.StatusDown {
		t.Errorf("deleted: %+v, %v", got, err)
	}
	if _, err := s.client.Check(ctx, c.ID); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("after the deletion: %v", err)
	}
}

func TestProject(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	list, err := s.client.Channels(t.Context())
	if err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	made, err := s.mon.Project(s.project.ID).CreateChannel(t.Context(), channels.Channel{Kind: channels.Email, Name: "Ops", Settings: map[string]string{"to": "ops@example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	list, err = s.client.Channels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "channels", list, []channels.Channel{{ID: made.ID, Name: "Ops", Kind: channels.Email}})

	s.create(checks.Spec{Tags: []string{"db"}})
	badges, err := s.reader.Badges(t.Context())
	if err != nil || len(badges) != 2 || !strings.HasPrefix(badges["*"].SVG3, s.url) || !strings.HasSuffix(badges["db"].JSON, ".json") {
		t.Errorf("badges %v, %v", badges, err)
	}
	if err := s.client.Probe(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestErrors asserts that the errors of a server are those of an embedded monitor.
func TestErrors(t *testing.T) {
	s := serve(t, server.Config{}, "free")
	ctx := t.Context()
	c := s.create(checks.Spec{Slug: new("twice")})
	s.create(checks.Spec{Slug: new("twice")})
	none := uuid.MustParse("11111111-2222-4333-8444-555555555555")
	missing := func(err error) bool { return errors.Is(err, checks.ErrNotFound) }
	ambiguous := func(err error) bool { return errors.Is(err, checks.ErrAmbiguousSlug) }
	status := func(code int) func(error) bool {
		return func(err error) bool {
			e, ok := errors.AsType[*client.Error](err)
			return ok && e.StatusCode == code
		}
	}
	field := func(name string) func(error) bool {
		return func(err error) bool {
			e, ok := errors.AsType[*checks.FieldError](err)
			return ok && e.Field == name
		}
	}
	selection := func(item string) func(error) bool {
		return func(err error) bool {
			e, ok := errors.AsType[*channels.SelectError](err)
			_, isField := errors.AsType[*checks.FieldError](err)
			return ok && !isField && e.Item == item && e.Error() == "channels: no integration has the id or name "+strconv.Quote(item)
		}
	}
	wrong, err := client.New(s.url, strings.Repeat("x", 32), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		call func() error
		is   func(error) bool
		text string
	}{
		"get":       {func() error { _, err := s.client.Check(ctx, none); return err }, missing, "client: get check 11111111-2222-4333-8444-555555555555: not found (status 404)"},
		"get key":   {func() error { _, err := s.client.CheckByUniqueKey(ctx, strings.Repeat("0", 40)); return err }, missing, `client: get check "0000000000000000000000000000000000000000": not found (status 404)`},
		"bad key":   {func() error { _, err := s.client.CheckByUniqueKey(ctx, ".."); return err }, missing, `client: get check "..": not found`},
		"empty key": {func() error { _, err := checks.Collect(s.client.FlipsByUniqueKey(ctx, "", flips.Range{})); return err }, missing, `client: list flips of check "": not found`},
		"slug":      {func() error { _, err := s.client.CheckBySlug(ctx, "none"); return err }, missing, `client: get check "none": not found`},
		"no slug":   {func() error { _, err := s.client.CheckBySlug(ctx, ""); return err }, missing, `client: get check "": not found`},
		"two slugs": {func() error { _, err := s.client.CheckBySlug(ctx, "twice"); return err }, ambiguous, `client: get check "twice": ambiguous slug`},
		"update":    {func() error { _, err := s.client.Update(ctx, none, checks.Spec{}); return err }, missing, ""},
		"pause":     {func() error { _, err := s.client.Pause(ctx, none); return err }, missing, ""},
		"resume":    {func() error { _, err := s.client.Resume(ctx, none); return err }, missing, ""},
		"delete":    {func() error { _, err := s.client.Delete(ctx, none); return err }, missing, ""},
		"pings":     {func() error { _, err := checks.Collect(s.client.Pings(ctx, none, checks.PingQuery{})); return err }, missing, ""},
		"body":      {func() error { _, err := s.client.PingBody(ctx, c.ID, 1); return err }, missing, ""},
		"body -1":   {func() error { _, err := s.client.PingBody(ctx, c.ID, -1); return err }, missing, ""},
		"flips":     {func() error { _, err := checks.Collect(s.client.Flips(ctx, none, flips.Range{})); return err }, missing, ""},
		"ping":      {func() error { return s.pinger(s.url+"/ping/"+none.String()).Success(ctx, nil) }, missing, "client: success ping: not found (status 404)"},
		"ambiguous": {func() error {
			return s.pinger(client.SlugURL(s.url+"/ping/", s.project.PingKey, "twice")).Failure(ctx, nil)
		}, ambiguous, "client: fail ping: ambiguous slug (status 409)"},
		"timeout": {func() error { _, err := s.client.Create(ctx, checks.Spec{Timeout: new(59 * time.Second)}); return err },
			field("timeout"), "client: create check: timeout is too small: 59, the minimum is 60 (status 400)"},
		"part of a second": {func() error {
			_, err := s.client.Update(ctx, c.ID, checks.Spec{Grace: new(61500 * time.Millisecond)})
			return err
		}, field("grace"), "client: update check " + c.ID.String() + ": grace is not a whole number of seconds: 1m1.5s"},
		"invalid text": {func() error { _, err := s.client.Create(ctx, checks.Spec{Name: new("\xff")}); return err }, field("name"), ""},
		"channel": {func() error { _, err := s.client.Create(ctx, checks.Spec{Channels: new("x")}); return err }, selection("x"),
			`client: create check: channels: no integration has the id or name "x" (status 400)`},
		"channels":  {func() error { _, err := s.client.Update(ctx, c.ID, checks.Spec{Channels: new(`a "b"`)}); return err }, selection(`a "b"`), ""},
		"own id":    {func() error { _, err := s.client.Create(ctx, checks.Spec{ID: none}); return err }, field("uuid"), ""},
		"wrong key": {func() error { _, err := wrong.Checks(ctx, checks.Query{}); return err }, status(401), "client: list checks: wrong api key (status 401)"},
		"read-only": {func() error { _, err := checks.Collect(s.reader.Pings(ctx, c.ID, checks.PingQuery{})); return err }, status(403), "client: list pings of check " + c.ID.String() + ": the api key is read-only (status 403)"},
		"window": {func() error {
			_, err := checks.Collect(s.client.Flips(ctx, c.ID, flips.Range{Last: -time.Second}))
			return err
		}, field("seconds"), ""},
		"no signal":   {func() error { return s.pinger(c.PingURL).Ping(ctx, pings.Signal{Kind: pings.Ignored}) }, field("signal"), ""},
		"exit status": {func() error { return s.pinger(c.PingURL).ExitStatus(ctx, 256, nil) }, field("signal"), ""},
		"exit and kind": {func() error {
			return s.pinger(c.PingURL).Ping(ctx, pings.Signal{Kind: pings.Success, ExitStatus: new(3)})
		}, field("signal"), "job: success ping: signal is not valid: the kind success contradicts the exit status 3"},
	} {
		err := test.call()
		if err == nil || !test.is(err) || test.text != "" && err.Error() != test.text {
			t.Errorf("%s: %v", name, err)
		}
	}
	for err = nil; err == nil; {
		_, err = s.client.Create(ctx, checks.Spec{})
	}
	if !errors.Is(err, checks.ErrCheckLimit) || errors.Is(err, checks.ErrNotFound) {
		t.Errorf("beyond the check limit: %v", err)
	}
	if list, err := s.client.Checks(ctx, checks.Query{}); err != nil || len(list) != 20 {
		t.Errorf("%d checks, %v", len(list), err)
	}
}

func TestLargePingBody(t *testing.T) {
	s := serve(t, server.Config{PingBodyLimit: 5_000_000}, "paid")
	c := s.create(checks.Spec{})
	want := strings.Repeat("\x00é\xff\n", 1_000_000)
	p := s.pinger(c.PingURL)
	for range 2 { // the first response states the limit
		if err := p.Success(t.Context(), []byte(want)); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.body(c, 2); got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}

func TestNewRefuses(t *testing.T) {
	for _, url := range []string{
		"", "rollcall.example.org", "ftp://rollcall.example.org", "http://", "https://:443/x", "http://h/%zz", "http://h/?a=b", "http://h/?",
		"http://h/#x", "http://h#", "http://user:secret-word@h/", "http://h\n/secret-word",
	} {
		if c, err := client.New(url, someKey, nil); err == nil || c != nil || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%q: %v", url, err)
		}
	}
	for _, key := range []string{"", "a", "rcw_secret", someKey[1:], someKey + "x", someKey[:30] + "\n-", someKey[:31] + " ", someKey[:30] + "é"} {
		if _, err := client.New("http://h", key, nil); err == nil || len(key) > 1 && strings.Contains(err.Error(), key) {
			t.Errorf("key %q: %v", key, err)
		}
	}
	for _, config := range []client.Config{{Timeout: -1}, {Tries: -1}, {MaxWait: -1}} {
		if _, err := client.New("http://h", someKey, &config); err == nil {
			t.Errorf("%+v is accepted", config)
		}
		pinging := client.PingerConfig{Timeout: config.Timeout, Tries: config.Tries, MaxWait: config.MaxWait}
		if _, err := client.NewPinger("http://h/x", &pinging); err == nil {
			t.Errorf("%+v is accepted by NewPinger", pinging)
		}
		if _, err := client.New("http://h", someKey, &client.Config{Pinger: pinging}); err == nil {
			t.Errorf("%+v is accepted as Config.Pinger", pinging)
		}
	}
}

// A program whose configuration is wrong runs its jobs with the nil results of New and NewPinger.
func TestNilClientRunsJobs(t *testing.T) {
	c, err := client.New("not a URL", someKey, nil)
	if err == nil || c != nil {
		t.Fatal(c, err)
	}
	reporter, err := c.Register(t.Context(), checks.Spec{Slug: new("backup")})
	if err == nil {
		t.Error("a nil client registers a job")
	}
	ran := false
	failed := errors.New("disk full")
	if err := reporter.Run(t.Context(), func(context.Context) error { ran = true; return failed }); !ran || err != failed {
		t.Errorf("ran %v, %v", ran, err)
	}
	if err := c.PauseExcept(t.Context(), "cron", []string{"a"}); err == nil {
		t.Error("a nil client pauses checks")
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestZeroClient calls each method of a client and a pinger that no constructor has made: it returns an error, and does not
// panic.
func TestZeroClient(t *testing.T) {
	runs := func(context.Context) error { return nil }
	for _, value := range []any{(*client.Client)(nil), &client.Client{}, &client.Pinger{}} {
		typ := reflect.TypeOf(value)
		for i := range typ.NumMethod() {
			method := typ.Method(i)
			if slices.Contains([]string{"Close", "Flush"}, method.Name) {
				continue // there is nothing to do
			}
			var in []reflect.Value
			for j := range method.Type.NumIn() {
				switch kind := method.Type.In(j); {
				case j == 0:
					in = append(in, reflect.ValueOf(value))
				case kind == reflect.TypeFor[context.Context]():
					in = append(in, reflect.ValueOf(t.Context()))
				case kind == reflect.TypeOf(runs):
					in = append(in, reflect.ValueOf(runs))
				default:
					in = append(in, reflect.Zero(kind))
				}
			}
			call := method.Func.Call
			if method.Type.IsVariadic() {
				call = method.Func.CallSlice
			}
			results := call(in)
			last := results[len(results)-1]
			if last.Kind() == reflect.Func { // an iterator
				for _, err := range last.Seq2() {
					last = err
				}
			}
			if last.Type() == reflect.TypeFor[error]() && last.IsNil() && method.Name != "Run" {
				t.Errorf("%s of %T returns no error", method.Name, value)
			}
		}
	}
	if err := (&client.Client{}).Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// The caller's http.Client is used unchanged.
func TestOwnHTTPClient(t *testing.T) {
	var paths []string
	own := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		paths = append(paths, r.Method+" "+r.URL.String()+" "+r.UserAgent()+" "+r.Header.Get("X-Api-Key"))
		return respond(r, 200, "application/json", `{"checks": []}`), nil
	})}
	c, err := client.New("https://h:8443/a%2Fb/c//", someKey, &client.Config{HTTPClient: own, UserAgent: "my job"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Checks(t.Context(), checks.Query{Slug: "é&"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"GET https://h:8443/a%2Fb/c/api/v3/checks/?slug=%C3%A9%26 my job " + someKey}; !slices.Equal(paths, want) {
		t.Errorf("%q, want %q", paths, want)
	}
	if own.CheckRedirect != nil {
		t.Error("the caller's client was changed")
	}
}
