package sms_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/sms"
)

const (
	ownAccount    = "AC00000000000000000000000000000001"
	serverAccount = "AC00000000000000000000000000000002"
	service       = "MG00000000000000000000000000000003"
	ownToken      = "0wn-t0ken"
	serverToken   = "serv3r-t0ken"
)

func down() channels.Notification {
	return channels.Notification{
		Check:  channels.Check{Name: "nightly backup"},
		Status: channels.Down,
		At:     time.Date(2026, time.March, 15, 4, 0, 0, 0, time.UTC),
		Reason: "no ping in time",
	}
}

const text = "DOWN: nightly backup\nDown since 2026-03-15 04:00:00 UTC: no ping in time."

// serve runs a fake Twilio and returns a notifier for it.
func serve(t *testing.T, config sms.Config, handler http.HandlerFunc) *sms.Notifier {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	config.BaseURL = server.URL
	config.Client = outbound.New(&outbound.Config{AllowPrivateNetworks: true})
	t.Cleanup(config.Client.CloseIdleConnections)
	notifier, err := sms.New(&config)
	if err != nil {
		t.Fatal(err)
	}
	return notifier
}

func own(more ...string) channels.Channel {
	settings := map[string]string{"to": "+37120000000", "account_sid": ownAccount, "auth_token": ownToken, "from": "Rollcall"}
	for i := 0; i < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	return channels.Channel{Kind: channels.SMS, Settings: settings}
}

func TestNotify(t *testing.T) {
	type request struct {
		Method, Path, User, Password string
		Form                         url.Values
	}
	tests := []struct {
		name    string
		channel channels.Channel
		want    request
	}{
		{"account of the channel", own(), request{"POST", "/2010-04-01/Accounts/" + ownAccount + "/Messages.json", ownAccount, ownToken,
			url.Values{"To": {"+37120000000"}, "From": {"Rollcall"}, "Body": {text}}}},
		{"messaging service", own("from", "", "messaging_service_sid", service),
			request{"POST", "/2010-04-01/Accounts/" + ownAccount + "/Messages.json", ownAccount, ownToken,
				url.Values{"To": {"+37120000000"}, "MessagingServiceSid": {service}, "Body": {text}}}},
		{"account of the server", channels.Channel{Settings: map[string]string{"to": "+37120000000"}},
			request{"POST", "/2010-04-01/Accounts/" + serverAccount + "/Messages.json", serverAccount, serverToken,
				url.Values{"To": {"+37120000000"}, "From": {"+37129999999"}, "Body": {text}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got request
			config := sms.Config{AccountSID: serverAccount, AuthToken: serverToken, From: "+37129999999"}
			notifier := serve(t, config, func(w http.ResponseWriter, r *http.Request) {
				_ = r.ParseForm()
				user, password, _ := r.BasicAuth()
				got = request{r.Method, r.URL.Path, user, password, r.PostForm}
				w.WriteHeader(http.StatusCreated)
			})
			if err := notifier.Notify(t.Context(), tt.channel, down()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	const invalid = `{"code": %d, "message": "no such number, account ` + ownAccount + `, ` + ownToken + `", "status": 400}`
	tests := []struct {
		name      string
		status    int
		after     string
		body      string
		permanent bool
		delay     time.Duration
	}{
		{"invalid number", 400, "", fmt.Sprintf(invalid, 21211), true, 0},
		{"not mobile", 400, "", fmt.Sprintf(invalid, 21614), true, 0},
		{"stopped", 400, "", fmt.Sprintf(invalid, 21610), true, 0},
		{"sender not allowed", 400, "", fmt.Sprintf(invalid, 21606), false, 0},
		{"wrong token", 401, "", fmt.Sprintf(invalid, 20003), false, 0},
		{"too fast", 429, "", fmt.Sprintf(invalid, 20429), false, time.Minute},
		{"too fast, with a pause", 429, "7", "", false, 7 * time.Second},
		{"broken", 500, "", "<html>" + ownToken, false, 0},
		{"gone", 410, "", "", true, 0},
		{"odd JSON", 400, "", `[{"code": 21211}]`, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			notifier := serve(t, sms.Config{}, func(w http.ResponseWriter, _ *http.Request) {
				if tt.after != "" {
					w.Header().Set("Retry-After", tt.after)
				}
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			})
			err := notifier.Notify(t.Context(), own(), down())
			if err == nil {
				t.Fatal("no error")
			}
			if status, _ := errors.AsType[*outbound.StatusError](err); status == nil || status.Status != tt.status {
				t.Errorf("the status is not in the error: %v", err)
			}
			delay, _ := channels.RetryDelay(err)
			if channels.IsPermanent(err) != tt.permanent || delay != tt.delay {
				t.Errorf("permanent %v, delay %v: %v", channels.IsPermanent(err), delay, err)
			}
			if strings.Contains(err.Error(), ownToken) {
				t.Errorf("the token is in the error: %v", err)
			}
		})
	}
}

func TestNoAccount(t *testing.T) {
	notifier := serve(t, sms.Config{}, func(http.ResponseWriter, *http.Request) { t.Error("a request was made") })
	err := notifier.Notify(t.Context(), channels.Channel{Settings: map[string]string{"to": "+37120000000"}}, down())
	if !errors.Is(err, sms.ErrNoAccount) || channels.IsPermanent(err) {
		t.Error(err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	notifier := serve(t, sms.Config{}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // or the server would not notice that the client is gone
		cancel()
		<-r.Context().Done()
	})
	if err := notifier.Notify(ctx, own(), down()); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), ownAccount) {
		t.Error(err)
	}
}

func TestPrivateNetwork(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was made") }))
	defer server.Close()
	notifier, err := sms.New(&sms.Config{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := notifier.Notify(t.Context(), own(), down()); !errors.Is(err, outbound.ErrPrivateAddress) {
		t.Error(err)
	}
}

func TestNew(t *testing.T) {
	tests := []struct {
		config sms.Config
		want   string
	}{
		{sms.Config{AccountSID: serverAccount}, "sms: auth_token is missing, account_sid needs it"},
		{sms.Config{AccountSID: serverAccount, AuthToken: serverToken},
			"sms: from and messaging_service_sid are both missing, account_sid needs one"},
		{sms.Config{AccountSID: "../x", AuthToken: serverToken, From: "x"}, "sms: account_sid is not AC and 32 hexadecimal digits"},
		{sms.Config{BaseURL: "ftp://example.org/" + serverToken}, "sms: the base URL is not an http:// or https:// URL"},
		{sms.Config{BaseURL: "http://%zz" + serverToken}, "sms: the base URL is not an http:// or https:// URL"},
	}
	for _, tt := range tests {
		if _, err := sms.New(&tt.config); cmp.Diff(tt.want, fmt.Sprint(err)) != "" {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	if _, err := sms.New(nil); err != nil {
		t.Error(err)
	}
}

func TestText(t *testing.T) {
	long := func(name string) channels.Notification {
		n := down()
		n.Check.Name, n.Reason = name, strings.Repeat("r", 200)
		return n
	}
	if diff := cmp.Diff(text, sms.Text(down())); diff != "" {
		t.Error(diff)
	}
	// 6 + 100 + 1 + 35 + 200 + 1 characters of the alphabet fit.
	if got := sms.Text(long(strings.Repeat("a", 100))); strings.HasSuffix(got, "...") {
		t.Errorf("cut although it fits: %q", got)
	}
	got := sms.Text(long(strings.Repeat("ž", 100)))
	if !strings.HasSuffix(got, "r...") || utf8.RuneCountInString(got) != 201 {
		t.Errorf("%d characters: %q", utf8.RuneCountInString(got), got)
	}
	got = sms.Text(long(strings.Repeat("😀", 100))) // two units each, 33 a segment
	if !strings.HasPrefix(got, "DOWN: "+strings.Repeat("😀", 90)) || !strings.HasSuffix(got, "...") || len([]rune(got)) > 110 {
		t.Errorf("%q", got)
	}
}

func ExampleText() {
	fmt.Println(sms.Text(channels.Notification{
		Check:   channels.Check{Name: "nightly backup"},
		Status:  channels.Up,
		At:      time.Date(2026, time.March, 15, 6, 5, 0, 0, time.UTC),
		DownFor: 125 * time.Minute,
		Reason:  "success was signalled",
	}))
	// Output:
	// UP: nightly backup
	// Up since 2026-03-15 06:05:00 UTC, after 2 hours 5 minutes: success was signalled.
}

func ExampleNew() {
	twilio := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.FormValue("From"), "to", r.FormValue("To"))
		w.WriteHeader(http.StatusCreated)
	}))
	defer twilio.Close()
	notifier, err := sms.New(&sms.Config{
		AccountSID: "AC00000000000000000000000000000002",
		AuthToken:  "token",
		From:       "Rollcall",
		BaseURL:    twilio.URL,
		Client:     twilio.Client(), // instead of the one that refuses private networks
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := channels.Channel{Kind: channels.SMS, Settings: map[string]string{"to": "+37120000000"}}
	n := channels.Notification{Check: channels.Check{Name: "backup"}, Status: channels.Down}
	fmt.Println(notifier.Notify(context.Background(), c, n))
	// Output:
	// Rollcall to +37120000000
	// <nil>
}
