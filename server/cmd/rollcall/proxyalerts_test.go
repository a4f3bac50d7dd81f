package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// TestProxyAlerts sends alerts with a proxy in the environment of the server, with --proxy-alerts and without it.
func TestProxyAlerts(t *testing.T) {
	asked := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.RequestURI
		switch {
		case r.Method == http.MethodConnect:
			http.Error(w, "only http", http.StatusForbidden)
		case r.URL.Path == "/private":
			w.Header().Set("Location", "http://10.0.0.1/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	}))
	defer proxy.Close()
	env := slices.DeleteFunc(cleanEnv(), func(entry string) bool { return strings.Contains(strings.ToUpper(entry), "_PROXY=") })
	env = append(env, "HTTP_PROXY="+proxy.URL, "https_proxy="+proxy.URL, "NO_PROXY=.direct.invalid")
	receivers := map[string]string{
		"http": "http://receiver.invalid/hook", "https": "https://receiver.invalid/hook", "private": "http://receiver.invalid/private",
		"direct": "http://a.direct.invalid/hook",
	}
	for _, test := range []struct {
		flags []string
		name  string
		asked string // what the proxy is asked
		err   string // a part of the error, or "" for none
	}{
		{[]string{"--proxy-alerts"}, "http", "POST http://receiver.invalid/hook", ""},
		{[]string{"--proxy-alerts"}, "https", "CONNECT receiver.invalid:443", "Forbidden"},
		{[]string{"--proxy-alerts"}, "private", "POST http://receiver.invalid/private", "not allowed"},
		{[]string{"--proxy-alerts"}, "direct", "", "lookup a.direct.invalid"},
		{nil, "http", "", "lookup receiver.invalid"},
	} {
		t.Run(test.name+strings.Join(test.flags, ""), func(t *testing.T) {
			db := dbtest.SQLite(t)
			p, err := startProcess(env, t.TempDir(), append([]string{"--database", db.URL}, test.flags...)...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.kill)
			administer(t, db, "channel", "create", "--kind", "webhook", "--name", "hook", "--set", "url_down="+receivers[test.name])
			var out strings.Builder
			status := run([]string{"--database", db.URL, "channel", "test", "hook"}, &out, &out)
			if (status == console.ExitOK) != (test.err == "") || !strings.Contains(out.String(), test.err) {
				t.Errorf("status %d: %s", status, out.String())
			}
			got := ""
			if len(asked) > 0 {
				got = <-asked
			}
			if got != test.asked {
				t.Errorf("the proxy was asked for %q, want %q", got, test.asked)
			}
		})
	}
}

// TestProxyAlertsWithoutProxy refuses the flag where the environment has no proxy that alerts can use.
func TestProxyAlertsWithoutProxy(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"} {
		t.Setenv(name, "")
	}
	for _, test := range []struct{ name, value, want string }{
		{"NO_PROXY", "*", "neither HTTPS_PROXY nor HTTP_PROXY is set"},
		{"HTTPS_PROXY", "http://user:s3cret@:x/", "HTTPS_PROXY is not a URL"},
		{"HTTP_PROXY", "ftp://user:s3cret@proxy.example.org", "HTTP_PROXY is not a URL"},
	} {
		t.Setenv(test.name, test.value)
		var out strings.Builder
		// The other flag, which is checked later, keeps the server from starting.
		if status := run([]string{"serve", "--proxy-alerts", "--heartbeat-every", "0s"}, &out, &out); status != console.ExitUsage ||
			!strings.Contains(out.String(), "--proxy-alerts: "+test.want) || strings.Contains(out.String(), "s3cret") {
			t.Errorf("%s=%s: status %d: %s", test.name, test.value, status, out.String())
		}
		t.Setenv(test.name, "")
	}
}
