package pagerduty_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/pagerduty"
)

const key = "s3cr3tXs3cr3tXs3cr3tXs3cr3tX1234"

func down() channels.Notification {
	return channels.Notification{
		ID: "n-1", Incident: "i-1",
		Check: channels.Check{
			ID: uuid.MustParse("5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f"), Name: "nightly backup", Slug: "backup", Tags: []string{"prod", "db"},
			Project: "backups", Timing: "every day", URL: "https://rollcall.example.org/c/1",
		},
		Status: channels.Down,
		At:     time.Date(2026, time.March, 15, 4, 0, 0, 0, time.UTC),
		Ping:   channels.Ping{At: time.Date(2026, time.March, 15, 3, 0, 0, 0, time.UTC), Kind: "fail", ExitStatus: new(3)},
		Reason: "exit status 3",
	}
}

// redirect sends all requests to the server of the test.
type redirect struct {
	next http.RoundTripper
	host string
}

func (r redirect) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("X-Meant", req.URL.String())
	req.URL.Scheme, req.URL.Host = "http", r.host
	return r.next.RoundTrip(req)
}

func notifier(t *testing.T, config *outbound.Config, handler http.HandlerFunc) *pagerduty.Notifier {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client := outbound.New(config)
	t.Cleanup(client.CloseIdleConnections)
	client.Transport = redirect{client.Transport, server.Listener.Addr().String()}
	return pagerduty.New(&pagerduty.Config{Client: client})
}

func channel(t *testing.T, more map[string]string) channels.Channel {
	t.Helper()
	settings := map[string]string{"routing_key": key}
	for name, value := range more {
		settings[name] = value
	}
	settings, err := channels.Validate([]channels.KindInfo{pagerduty.Kind()}, pagerduty.PagerDuty, settings)
	if err != nil {
		t.Fatal(err)
	}
	return channels.Channel{Kind: pagerduty.PagerDuty, Settings: settings}
}

func TestNotify(t *testing.T) {
	const trigger = `{"routing_key":"` + key + `","event_action":"trigger","dedup_key":"i-1","client":"Rollcall",
		"client_url":"https://rollcall.example.org/c/1",
		"links":[{"href":"https://rollcall.example.org/c/1","text":"The check in the API of Rollcall"}],
		"payload":{"summary":"%sDOWN%s: nightly backup. Down since 2026-03-15 04:00:00 UTC: exit status 3.","source":"nightly backup",
		"severity":"%s","timestamp":"2026-03-15T04:00:00Z","component":"backup","group":"backups","class":"dead man's switch",
		"custom_details":{"check":"nightly backup","uuid":"5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f","slug":"backup","tags":"prod db",
		"project":"backups","expected":"every day","reason":"exit status 3","last_ping_kind":"fail",
		"last_ping":"2026-03-15T03:00:00Z","exit_status":3%s}}}`
	reminder, test, up := down(), down(), down()
	reminder.Reminder, test.Test, up.Status = 2, true, channels.Up
	tests := []struct {
		name     string
		settings map[string]string
		n        channels.Notification
		url      string
		want     string
	}{
		{"down", nil, down(), "https://events.pagerduty.com/v2/enqueue", fmt.Sprintf(trigger, "", "", "critical", "")},
		{"warning in Europe", map[string]string{"severity": "warning", "region": "eu"}, down(),
			"https://events.eu.pagerduty.com/v2/enqueue", fmt.Sprintf(trigger, "", "", "warning", "")},
		{"reminder", nil, reminder, "https://events.pagerduty.com/v2/enqueue",
			fmt.Sprintf(trigger, "Still ", " (reminder 2)", "critical", `,"reminder":2`)},
		{"test", nil, test, "https://events.pagerduty.com/v2/enqueue", fmt.Sprintf(trigger, "[TEST] ", "", "info", "")},
		{"up", nil, up, "https://events.pagerduty.com/v2/enqueue",
			`{"routing_key":"` + key + `","event_action":"resolve","dedup_key":"i-1"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got map[string]any
			var url string
			s := notifier(t, &outbound.Config{AllowPrivateNetworks: true}, func(w http.ResponseWriter, r *http.Request) {
				url = r.Header.Get("X-Meant")
				if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
					t.Error(err)
				}
				w.WriteHeader(http.StatusAccepted)
			})
			if err := s.Notify(t.Context(), channel(t, tt.settings), tt.n); err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if payload, found := got["payload"].(map[string]any); found { // package message tests it
				delete(payload["custom_details"].(map[string]any), "text")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.url, url); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLimits uses names longer than PagerDuty accepts.
func TestLimits(t *testing.T) {
	n := down()
	n.Incident, n.Check.Name, n.Reason = strings.Repeat("i", 999), strings.Repeat("ž", 999), strings.Repeat("ž", 999)
	s := notifier(t, &outbound.Config{AllowPrivateNetworks: true}, func(w http.ResponseWriter, r *http.Request) {
		var got struct {
			Key     string `json:"dedup_key"`
			Payload struct {
				Summary string `json:"summary"`
			} `json:"payload"`
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || len(got.Key) > 255 || len(got.Payload.Summary) > 1024 {
			t.Error(err, len(got.Key), len(got.Payload.Summary))
		}
	})
	if err := s.Notify(t.Context(), channel(t, nil), n); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		status    int
		permanent bool
		delay     time.Duration
	}{{400, true, 0}, {429, false, 9 * time.Second}, {500, false, 0}, {410, true, 0}, {403, false, 0}}
	for _, tt := range tests {
		s := notifier(t, &outbound.Config{AllowPrivateNetworks: true}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "9")
			w.WriteHeader(tt.status)
			body, _ := io.ReadAll(r.Body)
			_, _ = w.Write(body)
		})
		err := s.Notify(t.Context(), channel(t, nil), down())
		delay, _ := channels.RetryDelay(err)
		if err == nil || channels.IsPermanent(err) != tt.permanent || delay != tt.delay || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%d: permanent %v, delay %v: %v", tt.status, channels.IsPermanent(err), delay, err)
		}
	}
	s := notifier(t, nil, func(http.ResponseWriter, *http.Request) { t.Error("a request was made") })
	if err := s.Notify(t.Context(), channel(t, nil), down()); !errors.Is(err, outbound.ErrPrivateAddress) {
		t.Error(err)
	}
}

func TestSettings(t *testing.T) {
	for name, want := range map[string]string{
		"":                       "pagerduty: routing_key is missing",
		"short":                  "pagerduty: routing_key is not an integration key, which has 32 letters and digits",
		strings.Repeat("/", 32):  "pagerduty: routing_key is not an integration key, which has 32 letters and digits",
		strings.Repeat("ž", 16):  "pagerduty: routing_key is not an integration key, which has 32 letters and digits",
		strings.Repeat("aB", 16): "<nil>",
	} {
		_, err := channels.Validate([]channels.KindInfo{pagerduty.Kind()}, pagerduty.PagerDuty, map[string]string{"routing_key": name})
		if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
			t.Error(diff)
		}
	}
}

// The client prints the event and answers it without a network.
func Example() {
	s := pagerduty.New(&pagerduty.Config{Client: &http.Client{Transport: printer{}}})
	c := channels.Channel{Kind: pagerduty.PagerDuty, Settings: map[string]string{"routing_key": "0123456789abcdef0123456789abcdef"}}
	n := channels.Notification{Incident: "backup-1", Status: channels.Up}
	fmt.Println(s.Notify(context.Background(), c, n))
	// Output:
	// {"routing_key":"0123456789abcdef0123456789abcdef","event_action":"resolve","dedup_key":"backup-1"}
	// <nil>
}

type printer struct{}

func (printer) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	fmt.Println(string(body))
	return &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody, Request: req}, err
}
