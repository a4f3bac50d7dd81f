package alertmanager_test

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
	"github.com/rollcall-dev/rollcall/channels/alertmanager"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

func at(hour, minute, second int) time.Time {
	return time.Date(2026, time.March, 15, hour, minute, second, 0, time.UTC)
}

func down() channels.Notification {
	return channels.Notification{
		ID: "n-1", Incident: "i-1",
		Check: channels.Check{
			ID: uuid.MustParse("5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f"), Name: "nightly backup", Slug: "backup",
			Tags: []string{"prod", "db/ž"}, Project: "backups", URL: "https://rollcall.example.org/c/1",
		},
		Status: channels.Down,
		At:     at(4, 0, 0),
		Reason: "no ping in time",
	}
}

func up(after time.Duration) channels.Notification {
	n := down()
	n.Status, n.At, n.DownFor, n.Reason = channels.Up, n.At.Add(after), after, "success"
	return n
}

// serve runs an Alertmanager that validates alerts by its API (postableAlerts of its OpenAPI document) and keeps them.
func serve(t *testing.T, status int) (address string, got *[]alert, header *http.Header) {
	t.Helper()
	got, header = new([]alert), new(http.Header)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*header = r.Header
		if r.Method != http.MethodPost || r.URL.Path != "/am/api/v2/alerts" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %s", r.Method, r.URL, r.Header)
		}
		content, _ := io.ReadAll(r.Body)
		decoder := json.NewDecoder(strings.NewReader(string(content)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(got); err != nil {
			t.Error(err)
		}
		for _, a := range *got {
			if !a.StartsAt.Before(a.EndsAt) {
				t.Errorf("starts %v, ends %v", a.StartsAt, a.EndsAt)
			}
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "no: "+r.Header.Get("Authorization")+" s3cr3tX")
	}))
	t.Cleanup(server.Close)
	return server.URL + "/am", got, header
}

type alert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
}

func send(t *testing.T, now time.Time, settings map[string]string, n channels.Notification) error {
	t.Helper()
	settings, err := channels.Validate([]channels.KindInfo{alertmanager.Kind()}, alertmanager.Alertmanager, settings)
	if err != nil {
		t.Fatal(err)
	}
	client := outbound.New(&outbound.Config{AllowPrivateNetworks: true})
	defer client.CloseIdleConnections()
	s := alertmanager.New(&alertmanager.Config{Client: client, Now: func() time.Time { return now }})
	return s.Notify(t.Context(), channels.Channel{Kind: alertmanager.Alertmanager, Settings: settings}, n)
}

func TestNotify(t *testing.T) {
	address, got, header := serve(t, 200)
	settings := map[string]string{"url": address + "/", "labels": "severity=page\n\nteam = ops, eu=1\r\n", "username": "u", "password": "p:ž"}
	if err := send(t, at(4, 0, 1), settings, down()); err != nil {
		t.Fatal(err)
	}
	want := []alert{{
		Labels: map[string]string{
			"alertname": "RollcallCheckDown", "check": "nightly backup", "uuid": "5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f", "slug": "backup",
			"project": "backups", "tag_prod": "true", "tag_db__": "true", "severity": "page", "team": "ops, eu=1",
		},
		Annotations: map[string]string{
			"summary": "DOWN: nightly backup",
			"description": "Down since 2026-03-15 04:00:00 UTC: no ping in time.\nLast ping: none\nProject: backups\nTags: prod db/ž\n" +
				"https://rollcall.example.org/c/1",
		},
		StartsAt:     at(4, 0, 0),
		EndsAt:       at(4, 0, 0).AddDate(1, 0, 0),
		GeneratorURL: "https://rollcall.example.org/c/1",
	}}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("Basic dTpwOsW+", header.Get("Authorization")); diff != "" {
		t.Error(diff)
	}
}

// TestLabelsStay checks that the alert keeps its labels when it is resolved.
func TestLabelsStay(t *testing.T) {
	address, got, header := serve(t, 200)
	settings := map[string]string{"url": address, "token": "s3cr3tX", "labels": "alertname=Cron"}
	if err := send(t, at(4, 0, 1), settings, down()); err != nil {
		t.Fatal(err)
	}
	first := (*got)[0].Labels
	if diff := cmp.Diff("Cron", first["alertname"]); diff != "" {
		t.Error(diff)
	}
	*got = nil
	if err := send(t, at(5, 0, 1), settings, up(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, (*got)[0].Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("Bearer s3cr3tX", header.Get("Authorization")); diff != "" {
		t.Error(diff)
	}
}

func TestEnd(t *testing.T) {
	test := down()
	test.Test = true
	tests := []struct {
		name         string
		now          time.Time
		n            channels.Notification
		starts, ends time.Time
	}{
		{"reported late", at(9, 0, 0), up(time.Hour), at(4, 0, 0), at(5, 0, 0)},
		{"reported at once", at(5, 0, 1), up(time.Hour), at(4, 0, 0), at(4, 59, 1)},
		{"down for seconds", at(4, 0, 3), up(2 * time.Second), at(3, 59, 2), at(3, 59, 3)},
		{"clock of the sender is behind", at(3, 0, 0), up(time.Hour), at(2, 58, 59), at(2, 59, 0)},
		{"test", at(4, 0, 1), test, at(4, 0, 0), at(4, 5, 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			address, got, _ := serve(t, 200)
			if err := send(t, tt.now, map[string]string{"url": address}, tt.n); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]time.Time{tt.starts, tt.ends}, []time.Time{(*got)[0].StartsAt, (*got)[0].EndsAt}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCluster(t *testing.T) {
	good, taken, _ := serve(t, 200)
	bad, _, _ := serve(t, 500)
	if err := send(t, at(4, 0, 1), map[string]string{"url": bad + ", " + good}, down()); err != nil || len(*taken) != 1 {
		t.Error(err)
	}
	err := send(t, at(4, 0, 1), map[string]string{"url": bad + "," + bad, "token": "s3cr3tX"}, down())
	want := "member 1: the receiver answered with status 500 Internal Server Error: no: Bearer *** ***\n" +
		"member 2: the receiver answered with status 500 Internal Server Error: no: Bearer *** ***"
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" || channels.IsPermanent(err) {
		t.Error(diff)
	}
	err = send(t, at(4, 0, 1), map[string]string{"url": bad}, down())
	if diff := cmp.Diff("the receiver answered with status 500 Internal Server Error: no: s3cr3tX", fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

func TestPrivateNetwork(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was made") }))
	defer server.Close()
	c := channels.Channel{Settings: map[string]string{"url": server.URL}}
	if err := alertmanager.New(nil).Notify(t.Context(), c, down()); !errors.Is(err, outbound.ErrPrivateAddress) {
		t.Error(err)
	}
	if err := alertmanager.New(nil).Notify(t.Context(), channels.Channel{}, down()); err == nil {
		t.Error("no error for a channel without settings")
	}
}

func TestSettings(t *testing.T) {
	tests := []struct{ name, value, want string }{
		{"url", "", "alertmanager: url is missing"},
		{"url", " , ", "alertmanager: url is not a list of 1 to 10 URLs"},
		{"url", strings.Repeat("http://h,", 11), "alertmanager: url is not a list of 1 to 10 URLs"},
		{"url", "http://h,ftp://h", "alertmanager: url is not an http:// or https:// URL, or several separated by commas"},
		{"url", "http://u:p@h", "alertmanager: url contains credentials, which belong to username and password"},
		{"url", "http://h?a=b", "alertmanager: url has a query or a fragment"},
		{"url", "http://[::1]:9093,https://h/am/", "<nil>"},
		{"password", "x", "alertmanager: username is missing, password needs it"},
		{"username", "a:b", "alertmanager: username contains a colon"},
		{"token", "x\ny", "alertmanager: token contains a space, a control character or a non-ASCII character"},
		{"labels", "a=b\nc", "alertmanager: labels has no = in line 2, write name=value"},
		{"labels", "1a=b", "alertmanager: labels has an invalid name in line 1: letters, digits and _, no digit first"},
		{"labels", "é=b", "alertmanager: labels has an invalid name in line 1: letters, digits and _, no digit first"},
		{"labels", "uuid=1", "alertmanager: labels uses a name in line 1 that only Rollcall may set"},
		{"labels", "tag_x=1", "alertmanager: labels uses a name in line 1 that only Rollcall may set"},
		{"labels", "a=", "alertmanager: labels has no value in line 1"},
		{"labels", "a=1\na=2", "alertmanager: labels repeats a name in line 2"},
	}
	for _, tt := range tests {
		settings := map[string]string{"url": "http://h"}
		settings[tt.name] = tt.value
		_, err := channels.Validate([]channels.KindInfo{alertmanager.Kind()}, alertmanager.Alertmanager, settings)
		if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" {
			t.Errorf("%q: %s", tt.value, diff)
		}
	}
	both := map[string]string{"url": "http://h", "token": "a", "username": "b"}
	_, err := channels.Validate([]channels.KindInfo{alertmanager.Kind()}, alertmanager.Alertmanager, both)
	if diff := cmp.Diff("alertmanager: token cannot be combined with username and password", fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

func FuzzLabels(f *testing.F) {
	f.Add("severity=page\nteam=ops")
	f.Add("=\n=\r\n\x00")
	f.Fuzz(func(t *testing.T, text string) {
		info := alertmanager.Kind()
		for _, s := range info.Settings {
			if s.Name == "labels" {
				_ = s.Check(text)
			}
		}
	})
}

// The client prints the alert and answers it without a network.
func Example() {
	s := alertmanager.New(&alertmanager.Config{
		Client: &http.Client{Transport: printer{}},
		Now:    func() time.Time { return at(6, 0, 0) },
	})
	c := channels.Channel{
		Kind:     alertmanager.Alertmanager,
		Settings: map[string]string{"url": "http://alertmanager:9093", "labels": "severity=page"},
	}
	n := channels.Notification{Check: channels.Check{Name: "backup"}, Status: channels.Up, At: at(5, 0, 0), DownFor: time.Hour}
	fmt.Println(s.Notify(context.Background(), c, n))
	// Output:
	// http://alertmanager:9093/api/v2/alerts
	// alertname=RollcallCheckDown severity=page
	// 2026-03-15 04:00:00 to 2026-03-15 05:00:00
	// <nil>
}

type printer struct{}

func (printer) RoundTrip(req *http.Request) (*http.Response, error) {
	var alerts []alert
	err := json.NewDecoder(req.Body).Decode(&alerts)
	for _, a := range alerts {
		fmt.Println(req.URL)
		fmt.Printf("alertname=%s severity=%s\n", a.Labels["alertname"], a.Labels["severity"])
		fmt.Println(a.StartsAt.Format(time.DateTime), "to", a.EndsAt.Format(time.DateTime))
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, err
}
