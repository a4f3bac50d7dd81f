package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// always returns a client that gets the same response to every request.
func always(t *testing.T, status int, contentType, body string) *client.Client {
	t.Helper()
	web := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		return respond(r, status, contentType, body), nil
	})}
	c, err := client.New("https://rollcall.example.org", someKey, &client.Config{HTTPClient: web, Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBothFormsOfFlips(t *testing.T) {
	want := []flips.Flip{
		{At: time.Date(2026, 3, 23, 10, 18, 23, 0, time.UTC), Up: true},
		{At: time.Date(2026, 3, 20, 2, 0, 0, 0, time.UTC)},
	}
	const list = `[{"timestamp": "2026-03-23T10:18:23+00:00", "up": 1}, {"timestamp": "2026-03-20T04:00:00+02:00", "up": 0}]`
	for _, body := range []string{list, " \n" + list, `{"flips": ` + list + `}`, "\t{\"flips\":\n" + list + `, "more": 1}`} {
		got, err := checks.Collect(always(t, 200, "application/json", body).Flips(t.Context(), someID, flips.Range{}))
		if err != nil {
			t.Error(err)
		}
		equal(t, body, got, want)
	}
	for _, body := range []string{`[]`, `{"flips": []}`} {
		if got, err := checks.Collect(always(t, 200, "application/json", body).Flips(t.Context(), someID, flips.Range{})); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v", body, got, err)
		}
	}
}

// The response of another program must not pass for a check or for an empty list.
func TestResponsesOfAnotherProgram(t *testing.T) {
	for _, body := range []string{
		"", "null", "{}", `"x"`, "5", "OK", "<html>Log in</html>", "[[", "[{}", `{"checks": null, "pings": null, "flips": null, "channels": null, "badges": null, "kinds": null, "projects": null, "status_pages": null}`,
		`{"checks": {}, "pings": {}, "flips": {}, "channels": 1, "badges": []}`, `{"checks": [{}], "pings": [{"date": "x"}], "flips": [5], "channels": [{}], "badges": {"a": 1}}`,
		`{"uuid": "not-a-uuid"}`, `{"uuid": "11111111-2222-4333-8444-555555555555", "channels": "a,b"}`, `{"uuid": "11111111-2222-4333-8444-555555555555", "grace": 1e400}`,
		`{"uuid": "11111111-2222-4333-8444-555555555555", "last_ping": "yesterday"}`, `{"pings": [{"rid": "x"}]}`, `{"pings": [{"duration": 1e300}]}`,
		strings.Repeat("[", 100_000), strings.Repeat(`{"flips":`, 100_000),
	} {
		c := always(t, 200, "application/json", body)
		ctx := t.Context()
		_, get := c.Check(ctx, someID)
		_, list := c.Checks(ctx, checks.Query{})
		_, pings := checks.Collect(c.Pings(ctx, someID, checks.PingQuery{}))
		_, changes := checks.Collect(c.Flips(ctx, someID, flips.Range{}))
		_, channels := c.Channels(ctx)
		_, badges := c.Badges(ctx)
		_, kinds := c.ChannelKinds(ctx)
		_, channel := c.Channel(ctx, someID)
		_, projects := c.Projects().List(ctx)
		_, project := c.Projects().ByID(ctx, someID)
		_, _, created := c.Projects().Create(ctx, checks.ProjectSpec{Name: "x"})
		_, pages := c.StatusPages(ctx)
		for i, err := range []error{get, list, pings, changes, channels, badges, kinds, channel, projects, project, created, pages, c.DeleteStatusPage(ctx, someID)} {
			if !errors.Is(err, client.ErrNotRollcall) || !strings.HasPrefix(err.Error(), "client: ") || len(err.Error()) > 300 {
				t.Errorf("%.60q, call %d: %v", body, i, err)
			}
		}
	}
}

// TestLongLists: a list of checks may be of any length, unlike its elements. A part of it does not pass for the whole.
func TestLongLists(t *testing.T) {
	const check = `{"uuid": "11111111-2222-4333-8444-555555555555", "more": "` // and so on
	element := check + strings.Repeat("x", 1<<19) + `"}`
	list := func(body io.Reader) (int, error) {
		t.Helper()
		web := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			res := respond(r, 200, "application/json", "")
			res.Body = io.NopCloser(body)
			return res, nil
		})}
		c, err := client.New("https://rollcall.example.org", someKey, &client.Config{HTTPClient: web, Tries: 1})
		if err != nil {
			t.Fatal(err)
		}
		list, err := c.Checks(t.Context(), checks.Query{})
		return len(list), err
	}
	parts := []io.Reader{strings.NewReader(`{"more": {"checks": [1]}, "checks": [` + element)}
	const n = 130 // 65 MiB
	for range n - 1 {
		parts = append(parts, strings.NewReader(","+element))
	}
	if got, err := list(io.MultiReader(append(parts, strings.NewReader(`], "also": [null]} `))...)); err != nil || got != n {
		t.Errorf("%d checks, error %v, want %d", got, err, n)
	}
	some := `{"checks": [` + check + `"}`
	for body, want := range map[io.Reader]error{
		strings.NewReader(some):                client.ErrNotRollcall,
		strings.NewReader(some + "]"):          client.ErrNotRollcall,
		strings.NewReader(some + "]} {}"):      client.ErrNotRollcall,
		strings.NewReader(some + "]}]"):        client.ErrNotRollcall,
		strings.NewReader(some + " {}]}"):      client.ErrNotRollcall,
		broken(some):                           checks.ErrUnavailable,
		broken(some + "]"):                     checks.ErrUnavailable,
		broken(some + "]}"):                    checks.ErrUnavailable,
		broken(some + `,{"uuid": "11111111-2`): checks.ErrUnavailable,
	} {
		if got, err := list(body); got != 0 || !errors.Is(err, want) || !strings.HasPrefix(err.Error(), "client: list checks: ") {
			t.Errorf("%d checks, error %v, want %v", got, err, want)
		}
	}
	if _, err := list(broken(some)); err.Error() != "client: list checks: unexpected EOF" {
		t.Errorf("broken off: %v", err)
	}
	for _, start := range []string{`{"checks": [` + check, `{"more": "`, `{"`, `{"checks": [` + element + "," + check} {
		_, err := list(io.MultiReader(strings.NewReader(start+strings.Repeat("x", 3<<20)), strings.NewReader(`"}]}`)))
		if err == nil || err.Error() != "client: list checks: an element of the response is longer than 1048576 bytes" {
			t.Errorf("%.20s: error %v", start, err)
		}
	}
}

// broken returns a body that is broken off.
func broken(text string) io.Reader {
	return io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrUnexpectedEOF))
}

func TestNumbersBeyondADuration(t *testing.T) {
	got, err := always(t, 200, "application/json", `{"uuid": "11111111-2222-4333-8444-555555555555", "timeout": 9223372036854775807, "grace": -9223372036854775808}`).Check(t.Context(), someID)
	if err != nil || got.Timeout <= 0 || got.Grace >= 0 {
		t.Errorf("%v, %v, %v", got.Timeout, got.Grace, err)
	}
}

func TestErrorMessages(t *testing.T) {
	for _, test := range []struct {
		status            int
		contentType, body string
		want              string
	}{
		{400, "application/json", `{"error": "grace is too large: 31536001, the maximum is 31536000"}`, "grace is too large: 31536001, the maximum is 31536000"},
		{400, "application/json; charset=utf-8", `{"error": "jsonschema error", "more": 1}`, "jsonschema error"},
		{403, "text/html", "<html>\n<h1>Forbidden</h1>", "forbidden"},
		{404, "text/plain; charset=utf-8", " not\r\n found\n", "not found"},
		{500, "application/json", `{"error": 5}`, "internal server error"},
		{500, "", "x", "internal server error"},
		{500, "text/plain", "\xff\xfe", "\ufffd"},
		{599, "application/json", "", "unexpected response"},
		{304, "", "", "not modified"},
		{500, "text/plain", strings.Repeat("é", 5000), strings.Repeat("é", 500)},
	} {
		_, err := always(t, test.status, test.contentType, test.body).Check(t.Context(), someID)
		e, ok := errors.AsType[*client.Error](err)
		if !ok || e.StatusCode != test.status || e.Message != test.want {
			t.Errorf("%d %.50q: %v, want %.50q", test.status, test.body, err, test.want)
		}
	}
}

// The document names the field at fault, whatever language its text is in.
func TestFieldErrorIsKnownByItsField(t *testing.T) {
	for document, want := range map[string]error{
		`{"error": "tz is not a valid time zone: x", "field": "tz"}`:           &checks.FieldError{Field: "tz", Reason: "is not a valid time zone: x"},
		`{"error": "seconds is too large", "field": "seconds"}`:                &checks.FieldError{Field: "seconds", Reason: "is too large"},
		`{"error": "channels: no integration has it", "field": "channels"}`:    &channels.SelectError{Reason: "no integration has it"},
		`{"error": "la zone n'existe pas", "field": "tz"}`:                     &checks.FieldError{Field: "tz", Reason: "la zone n'existe pas"},
		`{"error": "tzar is no zone", "field": "tz"}`:                          &checks.FieldError{Field: "tz", Reason: "tzar is no zone"},
		`{"error": "tz", "field": "tz"}`:                                       &checks.FieldError{Field: "tz", Reason: "tz"},
		`{"error": "tz is not a valid time zone: x"}`:                          nil,
		`{"error": "the body is not valid JSON", "field": ""}`:                 nil,
		`{"error": "tz is not a valid time zone: x", "field": null}`:           nil,
		`{"error": "tz is not a valid time zone: x", "field": ["tz", "name"]}`: nil,
	} {
		_, err := always(t, 400, "application/json", document).Check(t.Context(), someID)
		e, _ := errors.AsType[*client.Error](err)
		equal(t, document, e.Unwrap(), want)
	}
	if _, err := always(t, 404, "application/json", `{"error": "not found", "field": "tz"}`).Check(t.Context(), someID); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("404: %v", err)
	}
}

// Redirects keep the method and the body, and neither the API key nor a ping leaves the origin.
func TestRedirects(t *testing.T) {
	type seen struct{ method, url, body, key string }
	for name, c := range map[string]struct {
		status   int
		location string
		api      string // where the API request arrives, "" if it is refused
		ping     string
	}{
		"to https":        {301, "https://one.example.org/x?y=z", "https://one.example.org/x?y=z", "https://one.example.org/x?y=z"},
		"default ports":   {301, "https://ONE.example.org:443/x", "https://ONE.example.org:443/x", "https://ONE.example.org:443/x"},
		"default port":    {307, "http://one.example.org:80/x", "http://one.example.org:80/x", "http://one.example.org:80/x"},
		"to another port": {307, "http://one.example.org:8080/x", "", ""},
		"https elsewhere": {308, "https://one.example.org:8443/x", "", ""},
		"found":           {302, "/x", "http://one.example.org/x", "http://one.example.org/x"},
		"temporary":       {307, "/x", "http://one.example.org/x", "http://one.example.org/x"},
		"permanent":       {308, "/x", "http://one.example.org/x", "http://one.example.org/x"},
		"to another host": {308, "https://two.example.org/x", "", ""},
		"to a lookalike":  {308, "http://one.example.org.evil.example/x", "", ""},
		"see other":       {303, "/x", "", ""},
		"nowhere":         {301, "", "", ""},
		"nonsense":        {301, "http://%zz", "", "http://one.example.org/start/fail"}, // not an HTTP response, so the ping is retried
		"other scheme":    {301, "file:///etc/passwd", "", ""},
		"script":          {301, "javascript:alert(1)", "", ""},
		"in a circle":     {301, "/start", "", ""},
	} {
		test := func(t *testing.T) {
			var last seen
			requests := 0
			web := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				requests++
				if requests == 1 || name == "in a circle" {
					return respond(r, c.status, "text/html", "moved", "Location", c.location), nil
				}
				body, _ := io.ReadAll(r.Body)
				last = seen{r.Method, r.URL.String(), string(body), r.Header.Get("X-Api-Key")}
				answer := someCheck
				if last.key == "" {
					answer = "OK"
				}
				return respond(r, 200, "application/json", answer), nil
			})}
			config := &client.Config{HTTPClient: web}
			api, err := client.New("http://one.example.org", someKey, config)
			if err != nil {
				t.Fatal(err)
			}
			_, err = api.Create(t.Context(), checks.Spec{Name: new("n")})
			want := seen{}
			if c.api != "" {
				want = seen{"POST", c.api, `{"name":"n"}`, someKey}
			}
			if last != want || (err == nil) != (c.api != "") {
				t.Errorf("API: %+v, %v, want %+v", last, err, want)
			}
			last, want, requests = seen{}, seen{}, 0
			p, err := client.NewPinger("http://one.example.org/start", &client.PingerConfig{HTTPClient: web})
			if err != nil {
				t.Fatal(err)
			}
			if err = p.Failure(t.Context(), []byte("why")); errors.Is(err, client.ErrPending) {
				err = p.Close(t.Context())
			}
			if c.ping != "" {
				want = seen{"POST", c.ping, "why", ""}
			}
			if last != want || (err == nil) != (c.ping != "") || requests > 6 {
				t.Errorf("ping: %+v, %v after %d requests, want %+v", last, err, requests, want)
			}
		}
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

func TestNoRedirectFromHTTPS(t *testing.T) {
	web := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Scheme != "https" {
			t.Error("a request without TLS")
		}
		return respond(r, 301, "", "", "Location", "http://one.example.org/x"), nil
	})}
	p, err := client.NewPinger("https://one.example.org/secret", &client.PingerConfig{HTTPClient: web})
	if err != nil {
		t.Fatal(err)
	}
	err = p.Success(t.Context(), nil)
	if e, ok := errors.AsType[*client.Error](err); !ok || e.StatusCode != 301 || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}

// A server cannot raise the body limit without bound.
func TestBodyLimitOfTheServer(t *testing.T) {
	header := ""
	var sent int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.ContentLength
		if header != "" {
			w.Header().Set("Ping-Body-Limit", header)
		}
		w.WriteHeader(404) // errors state the limit too
	}))
	defer web.Close()
	for text, want := range map[string]int{
		"": 100_000, "-1": 100_000, "many": 100_000, "99999999999999999999": 100_000,
		"1e3": 100_000, "0": 0, "5": 5, "9223372036854775807": 10_000_000,
	} {
		p, err := client.NewPinger(web.URL+"/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		header = text
		for range 2 {
			_ = p.Log(t.Context(), make([]byte, 200_000))
		}
		if p.BodyLimit() != want || sent != int64(min(want, 200_000)) {
			t.Errorf("%q: limit %d, sent %d, want %d", text, p.BodyLimit(), sent, want)
		}
	}
}

// The error of a connection does not contain the ping URL, which is a secret.
func TestConnectionErrorsKeepTheURLSecret(t *testing.T) {
	web := httptest.NewServer(nil)
	web.Close()
	p, err := client.NewPinger(web.URL+"/secret", &client.PingerConfig{Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	err = p.Success(t.Context(), nil)
	if _, isURL := errors.AsType[*url.Error](err); err == nil || strings.Contains(err.Error(), "secret") || isURL {
		t.Errorf("error %v", err)
	}
}

// Healthchecks sends more keys than Rollcall, and null where Rollcall sends a text.
func TestDocumentsOfHealthchecks(t *testing.T) {
	c := always(t, 200, "application/json", `{"uuid": "11111111-2222-4333-8444-555555555555", "name": "n", "tags": "a b", "timeout": 86400, "grace": 60,
		"last_ping": "2026-03-23T10:18:23.123456+00:00", "next_ping": null, "status": "up", "last_duration": 5, "manual_resume": false, "subject": "", "success_kw": "", "methods": ""}`)
	got, err := c.Check(t.Context(), someID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "check", got, checks.Snapshot{
		ID: someID, UniqueKey: checks.UniqueKey(someID),
		Settings: checks.Settings{Name: "n", Tags: []string{"a", "b"}, Timeout: 24 * time.Hour, Grace: time.Minute},
		Status:   checks.StatusUp, LastPing: time.Date(2026, 3, 23, 10, 18, 23, 123456000, time.UTC),
	})
	c = always(t, 200, "application/json", `{"pings": [{"type": "success", "date": "2026-03-23T10:18:23.123456+00:00", "n": 7, "scheme": "email",
		"remote_addr": null, "method": "", "ua": "Email from job@example.org", "rid": null, "duration": 12.34, "body_url": "https://h/api/v3/checks/x/pings/7/body"}]}`)
	list, err := checks.Collect(c.Pings(t.Context(), someID, checks.PingQuery{}))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "pings", list, []pings.Ping{{
		N: 7, Kind: pings.Success, At: time.Date(2026, 3, 23, 10, 18, 23, 123456000, time.UTC), Scheme: "email",
		UserAgent: "Email from job@example.org", Duration: new(12340 * time.Millisecond), BodySize: -1,
	}})
}

// Whatever the server sends, nothing panics, and every check has an identifier.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{someCheck, "", "null", `[]`, `{"flips": [{"timestamp": "2026-03-23T10:18:23Z", "up": 1}]}`, `{"checks": [` + someCheck + `]}`,
		`{"pings": [{"date": "2026-03-23T10:18:23Z", "rid": "x", "duration": 1e9}]}`, `{"channels": [{"id": "x"}]}`, `{"error": "tags are bad"}`} {
		f.Add(200, seed)
		f.Add(400, seed)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 999 {
			return
		}
		c := always(t, status, "application/json", body)
		got, err := c.Check(t.Context(), someID)
		if err == nil && got.ID == uuid.Nil && got.UniqueKey == "" {
			t.Errorf("%q is a check: %+v", body, got)
		}
		_, listErr := c.Checks(t.Context(), checks.Query{})
		_, pingsErr := checks.Collect(c.Pings(t.Context(), someID, checks.PingQuery{}))
		_, flipsErr := checks.Collect(c.Flips(t.Context(), someID, flips.Range{}))
		_, channelsErr := c.Channels(t.Context())
		for _, err := range []error{err, listErr, pingsErr, flipsErr, channelsErr} {
			if err != nil && !strings.HasPrefix(err.Error(), "client: ") {
				t.Errorf("%q: %v", body, err)
			}
			if e, ok := errors.AsType[*client.Error](err); ok != (status > 299 && err != nil) || ok && (e.StatusCode != status || len(e.Message) > 1000) {
				t.Errorf("%d %q: %v", status, body, err)
			}
		}
	})
}
