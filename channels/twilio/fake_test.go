package twilio_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/twilio"
)

const (
	ownAccount    = "AC00000000000000000000000000000001"
	serverAccount = "AC00000000000000000000000000000002"
	service       = "MG00000000000000000000000000000003"
	apiKey        = "SK00000000000000000000000000000004"
	template      = "HX00000000000000000000000000000005"
	ownToken      = "0wn-t0ken"
	serverToken   = "serv3r-t0ken"
	keySecret     = "k3y-secret"
)

// fake is a Twilio with the rules of
//   - https://www.twilio.com/docs/messaging/api/message-resource (parameters, statuses, error_code),
//   - https://www.twilio.com/docs/voice/api/call-resource (parameters, statuses),
//   - https://www.twilio.com/docs/whatsapp/api (addresses with whatsapp:),
//   - https://www.twilio.com/docs/iam/api-keys (an API key and its secret in place of account and token),
//   - https://www.twilio.com/docs/api/errors (codes).
type fake struct {
	mu sync.Mutex
	// statuses are what the status becomes with each request for it; the last one stays. "63016 failed" has an error code.
	statuses []string
	// instead, unless nil, answers in place of the fake.
	instead http.HandlerFunc
	// made are the parameters of messages and calls.
	made []url.Values
	// asked is the number of requests for a status.
	asked int
	slept time.Duration
}

var secrets = map[string]string{ownAccount: ownToken, serverAccount: serverToken, apiKey: keySecret}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.instead != nil {
		f.instead(w, r)
		return
	}
	user, password, _ := r.BasicAuth()
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/2010-04-01/Accounts/"), "/")
	switch {
	case secrets[user] == "" || secrets[user] != password || user != parts[0] && user != apiKey:
		refuse(w, 401, 20003, "Authenticate")
	case r.Method == "POST" && len(parts) == 2 && (parts[1] == "Messages.json" || parts[1] == "Calls.json"):
		_ = r.ParseForm()
		check, prefix, status := checkMessage, "SM", "queued"
		if parts[1] == "Calls.json" {
			check, prefix = checkCall, "CA"
		} else if r.PostForm.Has("MessagingServiceSid") {
			status = "accepted" // with a messaging service
		}
		if code, text := check(r.PostForm); code != 0 {
			refuse(w, 400, code, text)
			return
		}
		f.made = append(f.made, r.PostForm)
		w.WriteHeader(http.StatusCreated)
		f.state(w, fmt.Sprintf("%s%032x", prefix, len(f.made)), status)
	case r.Method == "GET" && len(parts) == 3 && regexp.MustCompile("^(Messages/SM|Calls/CA)[0-9a-f]{32}[.]json$").MatchString(parts[1]+"/"+parts[2]):
		f.asked++
		status := f.statuses[0]
		if len(f.statuses) > 1 {
			f.statuses = f.statuses[1:]
		}
		f.state(w, strings.TrimSuffix(parts[2], ".json"), status)
	default:
		refuse(w, 404, 20404, "The requested resource "+r.URL.Path+" was not found")
	}
}

// state writes the part of a resource that counts. A call has no error code.
func (f *fake) state(w http.ResponseWriter, sid, status string) {
	document := map[string]any{"sid": sid, "status": status}
	if strings.HasPrefix(sid, "SM") {
		document["error_code"], document["error_message"] = nil, nil
		if code, word, found := strings.Cut(status, " "); found {
			document["status"], document["error_code"] = word, json.Number(code)
		}
		if status == "30003 undelivered" {
			document["error_message"] = "Unreachable destination handset"
		}
	}
	_ = json.NewEncoder(w).Encode(document)
}

func refuse(w http.ResponseWriter, status, code int, text string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "message": text, "status": status, "more_info": fmt.Sprintf("https://www.twilio.com/docs/errors/%d", code)})
}

var phone = regexp.MustCompile(`^[+][1-9][0-9]{6,14}$`)

func checkMessage(f url.Values) (code int, text string) {
	from, fromWhatsApp := strings.CutPrefix(f.Get("From"), "whatsapp:")
	to, whatsApp := strings.CutPrefix(f.Get("To"), "whatsapp:")
	switch {
	case !phone.MatchString(to):
		return 21211, "Invalid 'To' Phone Number"
	case f.Has("From") == f.Has("MessagingServiceSid"):
		return 21603, "A 'From' phone number is required"
	case f.Has("From") && fromWhatsApp != whatsApp, fromWhatsApp && !phone.MatchString(from):
		return 63007, "Twilio could not find a Channel with the specified From address"
	case f.Has("Body") == f.Has("ContentSid"):
		return 21619, "A text message body or media urls must be specified."
	case utf8.RuneCountInString(f.Get("Body")) > 1600:
		return 21617, "The concatenated message body exceeds the 1600 character limit."
	case f.Has("ContentVariables") && !f.Has("ContentSid"):
		return 21654, "ContentSid Required"
	}
	if !f.Has("ContentVariables") {
		return 0, ""
	}
	var variables map[string]string
	if json.Unmarshal([]byte(f.Get("ContentVariables")), &variables) != nil {
		return 21656, "The ContentVariables Parameter is invalid."
	}
	for _, value := range variables {
		if value == "" || strings.ContainsAny(value, "\n\t") || strings.Contains(value, "    ") {
			return 21656, "The ContentVariables Parameter is invalid."
		}
	}
	return 0, ""
}

func checkCall(f url.Values) (code int, text string) {
	switch {
	case !phone.MatchString(f.Get("To")):
		return 21217, "Phone number does not appear to be valid"
	case !phone.MatchString(f.Get("From")):
		return 21212, "Invalid 'From' Phone Number"
	case f.Get("Twiml") == "":
		return 21205, "Url parameter is required"
	case utf8.RuneCountInString(f.Get("Twiml")) > 4000:
		return 32018, "Twiml size exceeded maximum allowed value of 4000 characters"
	}
	for d := xml.NewDecoder(strings.NewReader(f.Get("Twiml"))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return 0, ""
		} else if err != nil {
			return 12100, "Document parse failure"
		}
	}
}

// start runs a fake and returns a notifier for it. Its clock moves when the notifier waits.
func start(t *testing.T, config twilio.Config, statuses ...string) (*fake, channels.Notifier) {
	t.Helper()
	f := &fake{statuses: statuses}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	config.BaseURL = server.URL
	config.Client = outbound.New(&outbound.Config{AllowPrivateNetworks: true})
	t.Cleanup(config.Client.CloseIdleConnections)
	config.After = func(d time.Duration) <-chan time.Time {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.slept += d
		now := make(chan time.Time, 1)
		now <- time.Time{}
		return now
	}
	types, err := twilio.New(&config)
	if err != nil {
		t.Fatal(err)
	}
	return f, types[0].Notifier
}

// own returns a channel with its own account.
func own(kind channels.Kind, more ...string) channels.Channel {
	settings := map[string]string{"to": "+37120000000", "account_sid": ownAccount, "auth_token": ownToken, "from": "+37129999999"}
	for i := 0; i < len(more); i += 2 {
		if settings[more[i]] = more[i+1]; more[i+1] == "" {
			delete(settings, more[i])
		}
	}
	return channels.Channel{Kind: kind, Settings: settings}
}

// shared returns a channel without an account.
func shared(kind channels.Kind) channels.Channel {
	return channels.Channel{Kind: kind, Settings: map[string]string{"to": "+37120000000"}}
}

func down() channels.Notification {
	return channels.Notification{
		Check:  channels.Check{Name: "nightly backup"},
		Status: channels.Down,
		At:     time.Date(2026, time.March, 15, 4, 0, 0, 0, time.UTC),
		Reason: "no ping in time",
	}
}
