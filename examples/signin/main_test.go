package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// TestSignIn starts the program twice on one database.
func TestSignIn(t *testing.T) {
	db := dbtest.SQLite(t)
	for _, upserted := range []int{http.StatusCreated, http.StatusOK} {
		mon, err := monitor.New(db.Open(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		web := httptest.NewUnstartedServer(nil)
		base := "http://" + web.Listener.Addr().String()
		if web.Config.Handler, err = routes(t.Context(), mon, base); err != nil {
			t.Fatal(err)
		}
		web.Start()

		checks := base + "/ops/api/v3/checks/"
		backup := `{"name": "backup", "unique": ["name"]}`
		nobody, guest, ann := signIn(t, base, "ann", "wrong"), signIn(t, base, "guest", "welcome"), signIn(t, base, "ann", "correct horse")
		nobody.send("POST", checks, backup, http.StatusUnauthorized)
		guest.send("POST", checks, backup, http.StatusForbidden)
		ann.send("POST", checks, backup, http.StatusForbidden, "Origin", "https://evil.example.org", "Sec-Fetch-Site", "cross-site")
		var check struct {
			Ping string `json:"ping_url"`
		}
		if err := json.Unmarshal([]byte(ann.send("POST", checks, backup, upserted, "Origin", base, "Sec-Fetch-Site", "same-origin")), &check); err != nil {
			t.Fatal(err)
		}
		if got := nobody.send("GET", check.Ping, "", http.StatusOK); got != "OK" {
			t.Errorf("the ping is answered by %q", got)
		}
		if got := guest.send("GET", checks, "", http.StatusOK); !strings.Contains(got, `"status":"up"`) || strings.Contains(got, check.Ping) {
			t.Errorf("a guest sees %s", got)
		}
		if got := guest.send("GET", base+"/ops/", "", http.StatusOK); !strings.Contains(got, "backup") || !strings.Contains(got, "guest") {
			t.Errorf("the dashboard shows a guest %s", got)
		}
		if got := nobody.send("GET", base+"/ops/", "", http.StatusOK); !strings.Contains(got, "Sign in</button>") {
			t.Errorf("the dashboard leads nobody to %s", got)
		}
		web.Close()
	}
}

// browser keeps the cookies of a person.
type browser struct {
	*testing.T
	http.Client
}

func signIn(t *testing.T, base, name, password string) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t, http.Client{Jar: jar}}
	answer, err := b.PostForm(base+"/login", url.Values{"name": {name}, "password": {password}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return b
}

// send sends a request with headers, asserts the status, and returns the body of the answer.
func (b *browser) send(method, url, body string, status int, headers ...string) string {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := b.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		b.Errorf("%s %s: %d %s, %v, want %d", method, url, answer.StatusCode, text, err, status)
	}
	return string(text)
}
