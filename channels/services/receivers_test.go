//go:build release

package services_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/internal/receivertest"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/services"
)

// shown is a message as the API of its receiver shows it.
type shown struct {
	Title, Text, Link string
	Priority          int
	Tags              []string
}

// A receiver is a real server and a channel that leads to it.
type receiver struct {
	kind     channels.Kind
	program  *receivertest.Program
	settings values
	// wrong are credentials that the server does not accept, and refusal is a part of its answer.
	wrong   values
	refusal string
	// messages returns the messages that the server has, oldest first.
	messages func() []shown
}

func (r receiver) notify(ctx context.Context, t *testing.T, settings values, n channels.Notification) error {
	t.Helper()
	settings, err := channels.Validate(services.New(nil), r.kind, settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := outbound.New(&outbound.Config{AllowPrivateNetworks: true})
	defer client.CloseIdleConnections()
	return notifiers(&services.Config{Client: client})[r.kind].Notify(ctx, channels.Channel{Kind: r.kind, Settings: settings}, n)
}

// outage returns the alerts of an outage: down, a reminder and up.
func outage() (down, reminder, up channels.Notification) {
	down = channels.Notification{
		ID:     "n-1",
		Check:  channels.Check{Name: `nightly <b>backup</b> & "ž" 😀 *_` + "`", Project: "Ops", URL: "https://rollcall.example.org/c/1"},
		Status: channels.Down,
		At:     time.Date(2026, time.March, 15, 4, 0, 0, 0, time.UTC),
		Reason: "exit status 1",
		Ping: channels.Ping{At: time.Date(2026, time.March, 15, 4, 0, 0, 0, time.UTC), Kind: "fail", Duration: time.Minute,
			End: []byte("copying…\n<error> \"disk\" is full & \\o/\n")},
	}
	reminder, up = down, down
	reminder.ID, reminder.Reminder = "n-2", 1
	up.ID, up.Status, up.DownFor, up.Reason = "n-3", channels.Up, time.Hour, "success"
	return down, reminder, up
}

// test sends the alerts of an outage, and one about a storm, to a real server: in quick succession, while it is away, while it hangs, and with
// wrong credentials. It returns those about the outage.
func (r receiver) test(t *testing.T) []shown {
	down, reminder, up := outage()
	all := []channels.Notification{down, reminder, up, storm(3)}
	for _, n := range all {
		if err := r.notify(t.Context(), t, r.settings, n); err != nil {
			t.Fatal(err)
		}
	}
	first := r.messages()
	if len(first) != len(all) {
		t.Fatalf("%d messages, want %d: %v", len(first), len(all), first)
	}
	for i, n := range all {
		title, text := message.Render(n, nil, 0)
		if diff := cmp.Diff(shown{Title: title, Text: text, Link: n.Check.URL}, shown{Title: first[i].Title, Text: first[i].Text, Link: first[i].Link}); diff != "" {
			t.Error(diff)
		}
	}

	r.program.Stop()
	if err := r.notify(t.Context(), t, r.settings, down); err == nil || channels.IsPermanent(err) {
		t.Errorf("the server is away: %v", err)
	}
	r.program.Restart(t)
	if err := r.notify(t.Context(), t, r.settings, down); err != nil {
		t.Errorf("the server is back: %v", err)
	}
	if n := len(r.messages()); n != 5 {
		t.Errorf("%d messages after the server was away, want 5", n)
	}

	settings := make(values)
	for _, more := range []values{r.settings, r.wrong} {
		for name, value := range more {
			settings[name] = value
		}
	}
	err := r.notify(t.Context(), t, settings, up)
	if err == nil || channels.IsPermanent(err) || !strings.Contains(err.Error(), r.refusal) {
		t.Errorf("wrong credentials: %v", err)
	}
	if n := len(r.messages()); n != 5 {
		t.Errorf("%d messages after wrong credentials, want 5", n)
	}

	r.program.Pause(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err = r.notify(ctx, t, r.settings, up)
	r.program.Resume(t)
	if !errors.Is(err, context.DeadlineExceeded) || channels.IsPermanent(err) {
		t.Errorf("the server hangs: %v", err)
	}
	if err := r.notify(t.Context(), t, r.settings, up); err != nil {
		t.Errorf("the server goes on: %v", err)
	}
	// The server may have read the request that was given up, too.
	if n := len(r.messages()); n < 6 || n > 7 {
		t.Errorf("%d messages after the server hung, want 6 or 7", n)
	}
	return first[:3]
}

// fetch makes a request of a server's API and returns the body of the answer.
func fetch(t *testing.T, method, address, user, password, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(user, password)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	content, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s %v", method, address, res.StatusCode, content, err)
	}
	return content
}

// TestRealNtfy sends to an ntfy server on which only one user may publish.
func TestRealNtfy(t *testing.T) {
	program := receivertest.Find(t, "ntfy", "ROLLCALL_TEST_NTFY", "on Debian 13 apt-get install ntfy")
	p := receivertest.Start(t, program, func(addr, dir string) (args, env []string) {
		config := filepath.Join(dir, "server.yml")
		lines := fmt.Sprintf("base-url: http://%s\nlisten-http: %[1]s\ncache-file: %s/cache.db\nauth-file: %[2]s/auth.db\n"+
			"auth-default-access: deny-all\n", addr, dir)
		if err := os.WriteFile(config, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"serve", "--config", config}, nil
	})
	add := exec.CommandContext(t.Context(), program, "user", "--config", filepath.Join(p.Dir, "server.yml"), "add", "--role=admin", "me")
	add.Env = append(os.Environ(), "NTFY_PASSWORD=right")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := "http://" + p.Addr
	r := receiver{
		kind: "ntfy", program: p,
		settings: values{"server_url": server, "topic": "alerts", "username": "me", "password": "right"},
		wrong:    values{"password": "wrong"}, refusal: "401",
		messages: func() (all []shown) {
			// https://docs.ntfy.sh/subscribe/api/#json-message-format
			lines := bufio.NewScanner(bytes.NewReader(fetch(t, "GET", server+"/alerts/json?poll=1", "me", "right", "")))
			for lines.Scan() {
				var m struct {
					Title, Message, Click string
					Priority              int
					Tags                  []string
				}
				if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
					t.Fatal(err)
				}
				all = append(all, shown{m.Title, m.Message, m.Click, m.Priority, m.Tags})
			}
			return all
		},
	}
	for i, m := range r.test(t) {
		priority, tag := []int{4, 4, 3}[i], []string{"warning", "warning", "white_check_mark"}[i]
		if diff := cmp.Diff([]string{tag}, m.Tags); diff != "" || m.Priority != priority {
			t.Errorf("%s: priority %d, %s", m.Title, m.Priority, diff)
		}
	}
}

// TestRealGotify sends to a Gotify server.
func TestRealGotify(t *testing.T) {
	program := receivertest.Find(t, "gotify", "ROLLCALL_TEST_GOTIFY", "build github.com/gotify/server/v2@v2.9.1 as .ci/run does")
	p := receivertest.Start(t, program, func(addr, _ string) (args, env []string) {
		host, port, _ := strings.Cut(addr, ":")
		return nil, []string{"GOTIFY_SERVER_LISTENADDR=" + host, "GOTIFY_SERVER_PORT=" + port, "GOTIFY_PASSSTRENGTH=4"}
	})
	server := "http://" + p.Addr
	var app struct {
		ID    int
		Token string
	}
	if err := json.Unmarshal(fetch(t, "POST", server+"/application", "admin", "admin", `{"name":"Rollcall"}`), &app); err != nil {
		t.Fatal(err)
	}
	r := receiver{
		kind: "gotify", program: p,
		settings: values{"server_url": server, "token": app.Token},
		wrong:    values{"token": "A12345678901234"}, refusal: "401",
		messages: func() (all []shown) {
			// https://gotify.net/api-docs
			var page struct {
				Messages []struct {
					Title, Message string
					Priority       int
					Extras         struct {
						Notification struct {
							Click struct{ URL string }
						} `json:"client::notification"`
					}
				}
			}
			content := fetch(t, "GET", fmt.Sprintf("%s/application/%d/message", server, app.ID), "admin", "admin", "")
			if err := json.Unmarshal(content, &page); err != nil {
				t.Fatal(err)
			}
			for _, m := range slices.Backward(page.Messages) { // newest first
				all = append(all, shown{Title: m.Title, Text: m.Message, Link: m.Extras.Notification.Click.URL, Priority: m.Priority})
			}
			return all
		},
	}
	for i, m := range r.test(t) {
		if want := []int{8, 8, 5}[i]; m.Priority != want {
			t.Errorf("%s: priority %d, want %d", m.Title, m.Priority, want)
		}
	}
}
