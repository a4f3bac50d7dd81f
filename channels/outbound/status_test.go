package outbound

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
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
			err := checkStatus(res, []byte(tt.body), now)
			text := ""
			if err != nil {
				text = err.Error()
				if e, ok := errors.AsType[*StatusError](err); !ok || e.Status != tt.status {
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

func FuzzCheckStatus(f *testing.F) {
	f.Add(429, "120", "busy")
	f.Add(503, "Sun, 15 Mar 2026 04:10:00 GMT", "\xff\x00")
	f.Add(410, "", strings.Repeat("long ", 100))
	f.Fuzz(func(t *testing.T, status int, after, body string) {
		res := &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {after}}}
		err := checkStatus(res, []byte(body), time.Unix(1e9, 0))
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
