package outbound_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

func TestCheckStatus(t *testing.T) {
	now := time.Date(2026, 3, 15, 4, 0, 0, 0, time.UTC)
	const busy = "the receiver answered with status 429 Too Many Requests"
	tests := []struct {
		name        string
		status      int
		after, body string
		want        string
		permanent   bool
		retry       time.Duration
	}{
		{"ok", 200, "", "x", "", false, 0},
		{"no content", 204, "", "", "", false, 0},
		{"last of 2xx", 299, "5", "", "", false, 0},
		{"gone", 410, "5", "bye", "the receiver answered with status 410 Gone: bye", true, 0},
		{"not found", 404, "", "<pre>no</pre>", "the receiver answered with status 404 Not Found: <pre>no</pre>", false, 0},
		{"unauthorized", 401, "", "", "the receiver answered with status 401 Unauthorized", false, 0},
		{"bad request", 400, "", "", "the receiver answered with status 400 Bad Request", false, 0},
		{"unknown status", 799, "", "", "the receiver answered with status 799", false, 0},
		{"redirect", 302, "", "", "the receiver answered with status 302 Found", false, 0},
		{"seconds", 429, "120", "", busy, false, 2 * time.Minute},
		{"blanks", 429, " 120 ", "", busy, false, 2 * time.Minute},
		{"date", 429, "Sun, 15 Mar 2026 04:10:00 GMT", "", busy, false, 10 * time.Minute},
		{"date in the past", 429, "Sun, 15 Mar 2026 03:10:00 GMT", "", busy, false, 0},
		{"far date", 429, "Sun, 15 Mar 2126 03:10:00 GMT", "", busy, false, 24 * time.Hour},
		{"many seconds", 429, "999999999", "", busy, false, 24 * time.Hour},
		{"too many digits", 429, strings.Repeat("9", 50), "", busy, false, 24 * time.Hour},
		{"zero", 429, "0", "", busy, false, 0},
		{"negative", 429, "-5", "", busy, false, 0},
		{"nonsense", 429, "soon", "", busy, false, 0},
		{"none", 429, "", "", busy, false, 0},
		{"unavailable", 503, "30", "", "the receiver answered with status 503 Service Unavailable", false, 30 * time.Second},
		{"another error", 500, "30", "", "the receiver answered with status 500 Internal Server Error", false, 0},
		{"unprintable", 500, "", "\x00 a\r\n\tb\u202e\xff\x1b[31mc ", "the receiver answered with status 500 Internal Server Error: a b[31mc", false, 0},
		{"long", 500, "", strings.Repeat("ä", 300), "the receiver answered with status 500 Internal Server Error: " + strings.Repeat("ä", 200) + "…", false, 0},
		{"just not too long", 500, "", strings.Repeat("ä", 200), "the receiver answered with status 500 Internal Server Error: " + strings.Repeat("ä", 200), false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := &http.Response{StatusCode: tt.status, Header: http.Header{"Retry-After": {tt.after}}}
			err := outbound.CheckStatus(res, []byte(tt.body), now)
			text := ""
			if err != nil {
				text = err.Error()
				if e, ok := errors.AsType[*outbound.StatusError](err); !ok || e.Status != tt.status {
					t.Errorf("got %#v", err)
				}
			}
			if diff := cmp.Diff(tt.want, text); diff != "" {
				t.Error(diff)
			}
			after, _ := channels.RetryDelay(err)
			if channels.IsPermanent(err) != tt.permanent || after != tt.retry {
				t.Errorf("permanent %v, again after %v", channels.IsPermanent(err), after)
			}
		})
	}
}

// Error pages repeat the path, and some services all of the request.
func TestSecretsAreHidden(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved/sesame-path" {
			redirect(w, http.StatusTemporaryRedirect, "/other/sesame-next?x=1")
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, "Cannot %s %s %s | %v %v %s", r.Method, r.URL.Path, r.RequestURI, r.Header["X-Key"], r.Header["Authorization"], r.URL.Query()["t"])
	})
	client := open(t, outbound.Config{})
	for _, path := range []string{"/hook/sesame-1?t=sesame%20two&u=1", "/hook/sesame?t=sesa", "/moved/sesame-path", "/sesame%2Fx/%20sesame"} {
		req := request(t, "POST", server.URL+path, "x")
		req.Header.Set("X-Key", "sesame-key")
		req.Header.Set("Authorization", "Bearer sesame-token")
		_, err := outbound.Do(client, req)
		if err == nil || strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), "Cannot POST ***") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestClean(t *testing.T) {
	_, parse := url.Parse(strings.Join([]string{"http://user:s3cret@h:x", ""}, "/"))
	inner := errors.New("connection refused")
	nested := fmt.Errorf("send: %w", &url.Error{Op: "Post", URL: "http://h/s3cret", Err: &url.Error{Op: "Get", URL: "http://h/s3cret", Err: inner}})
	tests := []struct {
		err  error
		want string
	}{
		{parse, "the URL is malformed"},
		{nested, "connection refused"},
		{inner, "connection refused"},
		{errors.New(strings.Repeat("x", 301) + "\n"), strings.Repeat("x", 300) + "…"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, outbound.Clean(tt.err).Error()); diff != "" {
			t.Error(diff)
		}
	}
	if outbound.Clean(nil) != nil {
		t.Error("Clean(nil) is not nil")
	}
	if !errors.Is(outbound.Clean(nested), inner) {
		t.Error("the error is not wrapped")
	}
}

func FuzzCheckStatus(f *testing.F) {
	f.Add(429, "120", "busy")
	f.Add(503, "Sun, 15 Mar 2026 04:10:00 GMT", "\xff\x00")
	f.Add(410, "", strings.Repeat("long ", 100))
	f.Fuzz(func(t *testing.T, status int, after, body string) {
		res := &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {after}}}
		err := outbound.CheckStatus(res, []byte(body), time.Unix(1e9, 0))
		if (err == nil) != (status >= 200 && status < 300) {
			t.Fatalf("status %d: %v", status, err)
		}
		if err == nil {
			return
		}
		text := err.Error()
		if !utf8.ValidString(text) || utf8.RuneCountInString(text) > 300 || strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("%q", text)
		}
		if delay, found := channels.RetryDelay(err); found && (delay <= 0 || delay > 24*time.Hour) {
			t.Errorf("again after %v", delay)
		}
	})
}
