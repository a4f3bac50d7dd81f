package twilio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/twilio"
)

const text = "DOWN: nightly backup\nDown since 2026-03-15 04:00:00 UTC: no ping in time."

// TestRequests checks what each kind sends, from the account of the channel and from that of the server.
func TestRequests(t *testing.T) {
	const spoken = `<Response><Pause length="1"/><Say language="en-US" loop="2">Rollcall alert. DOWN: nightly backup. ` +
		`Down since 2026-03-15 04:00:00 UTC: no ping in time.</Say></Response>`
	server := twilio.Config{AccountSID: serverAccount, AuthToken: serverToken, From: "+37128888888"}
	withKey := twilio.Config{AccountSID: serverAccount, APIKey: apiKey, APISecret: keySecret, MessagingServiceSID: service,
		WhatsAppContentSID: template, CallFrom: "+37127777777"}
	const filled = `{"1":"DOWN: nightly backup","2":"Down since 2026-03-15 04:00:00 UTC: no ping in time."}`
	tests := []struct {
		name    string
		config  twilio.Config
		channel channels.Channel
		final   string
		want    url.Values
	}{
		{"sms", server, own(channels.SMS, "from", "Rollcall"), "delivered", url.Values{"To": {"+37120000000"}, "From": {"Rollcall"}, "Body": {text}}},
		{"sms by a service", server, own(channels.SMS, "from", "", "messaging_service_sid", service), "delivered",
			url.Values{"To": {"+37120000000"}, "MessagingServiceSid": {service}, "Body": {text}}},
		{"sms by an API key", server, own(channels.SMS, "auth_token", "", "api_key", apiKey, "api_secret", keySecret), "delivered",
			url.Values{"To": {"+37120000000"}, "From": {"+37129999999"}, "Body": {text}}},
		{"sms of the server", server, shared(channels.SMS), "delivered", url.Values{"To": {"+37120000000"}, "From": {"+37128888888"}, "Body": {text}}},
		{"sms of the server by an API key", withKey, shared(channels.SMS), "delivered",
			url.Values{"To": {"+37120000000"}, "MessagingServiceSid": {service}, "Body": {text}}},
		{"whatsapp with a template", server, own(channels.WhatsApp, "content_sid", template), "read",
			url.Values{"To": {"whatsapp:+37120000000"}, "From": {"whatsapp:+37129999999"}, "ContentSid": {template}, "ContentVariables": {filled}}},
		{"whatsapp with variables", server, own(channels.WhatsApp, "content_sid", template, "content_variables",
			`{"job": "$NAME", "state": "is $STATUS\n\n: $REASON", "none": " "}`), "delivered",
			url.Values{"To": {"whatsapp:+37120000000"}, "From": {"whatsapp:+37129999999"}, "ContentSid": {template},
				"ContentVariables": {`{"job":"nightly backup","none":"-","state":"is down : no ping in time"}`}}},
		{"whatsapp of the server", withKey, shared(channels.WhatsApp), "delivered",
			url.Values{"To": {"whatsapp:+37120000000"}, "MessagingServiceSid": {service}, "ContentSid": {template}, "ContentVariables": {filled}}},
		{"call", server, own(channels.Call), "completed", url.Values{"To": {"+37120000000"}, "From": {"+37129999999"}, "Twiml": {spoken}}},
		{"call of the server", withKey, shared(channels.Call), "completed", url.Values{"To": {"+37120000000"}, "From": {"+37127777777"}, "Twiml": {spoken}}},
		{"call from the sender of texts", server, shared(channels.Call), "completed", url.Values{"To": {"+37120000000"}, "From": {"+37128888888"}, "Twiml": {spoken}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, notifier := start(t, tt.config, tt.final)
			if err := notifier.Notify(t.Context(), tt.channel, down()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]url.Values{tt.want}, f.made); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLimits checks that long and hostile texts keep to Twilio's limits, which the fake enforces.
func TestLimits(t *testing.T) {
	n := down()
	n.Check.Name = strings.Repeat(`"<&>'`, 60)
	n.Reason = "</Say><Dial>+37121111111</Dial>\r\n\t      " + strings.Repeat("ж\"", 300)
	n.Check.Tags = strings.Fields(strings.Repeat("ж ", 300))
	n.Ping.Body, n.Ping.End = []byte(strings.Repeat("ж\n", 5000)), []byte(strings.Repeat("ж\n", 1000))
	n.Check.Desc, n.Check.URL = strings.Repeat("ж", 10000), "https://rollcall.example.org/checks/1"
	for _, c := range []channels.Channel{
		own(channels.SMS), own(channels.WhatsApp), own(channels.WhatsApp, "content_sid", template), own(channels.Call),
	} {
		f, notifier := start(t, twilio.Config{}, "delivered")
		if err := notifier.Notify(t.Context(), c, n); err != nil || len(f.made) != 1 {
			t.Fatal(c.Kind, err)
		}
		if text := f.made[0].Get("Body"); c.Kind == channels.WhatsApp && text != "" && !strings.HasSuffix(text, n.Check.URL) {
			t.Errorf("the address of the check is cut off: %s", text)
		}
		if spoken := f.made[0].Get("Twiml"); strings.Contains(spoken, "<Dial") || strings.Count(spoken, "</Say>") > 1 {
			t.Error(spoken)
		}
	}
}

// TestStatuses checks what each status of a message or a call means at the end of an attempt.
func TestStatuses(t *testing.T) {
	tests := []struct {
		kind     channels.Kind
		statuses []string
		err      string
		outcome  string // "", "permanent" or "again"
	}{
		{channels.SMS, []string{"queued", "sending", "sent", "delivered"}, "", ""},
		{channels.SMS, []string{"sending", "sent"}, "", ""}, // the carrier reports no deliveries
		{channels.WhatsApp, []string{"sent", "delivered", "read"}, "", ""},
		{channels.SMS, []string{"accepted", "queued"}, `accepted by Twilio, but the status is still "queued"`, "again"},
		{channels.SMS, []string{"scheduled"}, `accepted by Twilio, but the status is still "scheduled"`, "again"},
		{channels.SMS, []string{"novel"}, `accepted by Twilio, but the status is still "novel"`, "again"},
		{channels.SMS, []string{"sent", "30003 undelivered"},
			"Twilio reports the message as undelivered, error 30003 (Unreachable destination handset): https://www.twilio.com/docs/api/errors/30003", "permanent"},
		{channels.SMS, []string{"30007 failed"}, "Twilio reports the message as failed, error 30007: https://www.twilio.com/docs/api/errors/30007", "permanent"},
		{channels.SMS, []string{"canceled"}, "Twilio reports the message as canceled", "permanent"},
		{channels.WhatsApp, []string{"63016 failed"},
			"Twilio reports the message as failed, error 63016; set content_sid to an approved template: https://www.twilio.com/docs/api/errors/63016", "permanent"},
		{channels.Call, []string{"ringing", "in-progress", "completed"}, "", ""},
		{channels.Call, []string{"queued", "initiated", "ringing"}, `accepted by Twilio, but the status is still "ringing"`, "again"},
		{channels.Call, []string{"in-progress"}, `accepted by Twilio, but the status is still "in-progress"`, "again"},
		{channels.Call, []string{"ringing", "failed"}, "Twilio reports the call as failed", "permanent"},
		{channels.Call, []string{"canceled"}, "Twilio reports the call as canceled", "permanent"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.kind, tt.statuses), func(t *testing.T) {
			f, notifier := start(t, twilio.Config{}, tt.statuses...)
			err := notifier.Notify(t.Context(), own(tt.kind), down())
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.err, got); diff != "" {
				t.Error(diff)
			}
			delay, _ := channels.RetryDelay(err)
			again := len(channels.Accepted(err)) == 1 && !channels.IsPermanent(err) && delay == 30*time.Second
			if channels.IsPermanent(err) != (tt.outcome == "permanent") || again != (tt.outcome == "again") {
				t.Errorf("permanent %v, accepted %v, delay %v", channels.IsPermanent(err), channels.Accepted(err), delay)
			}
			if f.slept > 16*time.Second || f.asked > 6 {
				t.Errorf("%d requests in %v", f.asked, f.slept)
			}
		})
	}
}

// attempts delivers an alert as the monitor does: again after each error that is not permanent. It returns the errors.
func attempts(t *testing.T, notifier channels.Notifier, c channels.Channel, most int) (list []string) {
	t.Helper()
	n := down()
	for range most {
		err := notifier.Notify(t.Context(), c, n)
		if err == nil {
			return append(list, "accepted")
		}
		after, _ := channels.RetryDelay(err)
		list = append(list, fmt.Sprint(err, " ", after))
		if channels.IsPermanent(err) {
			return append(list, "permanent")
		}
		if done := channels.Accepted(err); done != nil {
			n.Done = done
		}
	}
	return list
}

// TestQueuedIsNotSentTwice checks that later attempts ask about the first message.
func TestQueuedIsNotSentTwice(t *testing.T) {
	queued := strings.Split(strings.Repeat("queued ", 13), " ")[:13] // six in each attempt, and one at its begin
	f, notifier := start(t, twilio.Config{}, append(queued, "delivered")...)
	const still = `accepted by Twilio, but the status is still "queued" 30s`
	if diff := cmp.Diff([]string{still, still, "accepted"}, attempts(t, notifier, own(channels.SMS), 9)); diff != "" {
		t.Error(diff)
	}
	if len(f.made) != 1 {
		t.Errorf("%d messages", len(f.made))
	}
}

// TestRetryOfFailed checks that a user who retries a failed delivery gets another message or call, whenever the first one
// failed.
func TestRetryOfFailed(t *testing.T) {
	for _, statuses := range [][]string{
		{"30003 undelivered", "delivered"}, {"queued", "queued", "queued", "queued", "queued", "queued", "30003 undelivered", "delivered"},
		{"failed", "completed"},
	} {
		kind := channels.SMS
		if statuses[0] == "failed" {
			kind = channels.Call
		}
		f, notifier := start(t, twilio.Config{}, statuses...)
		n := down()
		for range 2 {
			err := notifier.Notify(t.Context(), own(kind), n)
			if n.Done = append(n.Done, channels.Accepted(err)...); channels.IsPermanent(err) {
				break
			}
		}
		if err := notifier.Notify(t.Context(), own(kind), n); err != nil || len(f.made) != 2 {
			t.Errorf("%v: %d made, %v", statuses, len(f.made), err)
		}
	}
}

// TestCallsAgain checks that three calls are made if nobody answers, and no more.
func TestCallsAgain(t *testing.T) {
	f, notifier := start(t, twilio.Config{}, "no-answer", "busy", "ringing", "ringing", "ringing", "ringing", "ringing", "ringing", "no-answer")
	if diff := cmp.Diff([]string{
		"nobody answered the call 2m0s", "the line was busy 2m0s", `accepted by Twilio, but the status is still "ringing" 30s`,
		"nobody answered the call, the last of 3 calls 0s", "permanent",
	}, attempts(t, notifier, own(channels.Call), 9)); diff != "" {
		t.Error(diff)
	}
	if len(f.made) != 3 {
		t.Errorf("%d calls", len(f.made))
	}
	f, notifier = start(t, twilio.Config{}, "busy", "completed")
	if diff := cmp.Diff([]string{"the line was busy 2m0s", "accepted"}, attempts(t, notifier, own(channels.Call), 9)); diff != "" || len(f.made) != 2 {
		t.Error(diff, len(f.made))
	}
}

// TestStatusUnknown checks that a message whose status cannot be read is not sent again.
func TestStatusUnknown(t *testing.T) {
	f, notifier := start(t, twilio.Config{}, "queued")
	broken := 0
	f.instead = func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			w.WriteHeader(http.StatusCreated)
			f.state(w, "SM00000000000000000000000000000001", "queued")
			return
		}
		if broken++; broken == 4 {
			f.state(w, "SM00000000000000000000000000000001", "delivered")
			return
		}
		refuse(w, []int{404, 500, 429}[broken-1], 20404, "account "+ownToken)
	}
	const failed = "the receiver answered with status "
	got := attempts(t, notifier, own(channels.SMS), 9)
	for i, want := range []string{"ask Twilio for the status: " + failed + "404", failed + "500", failed + "429", "accepted"} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) || strings.Contains(got[i], ownToken) {
			t.Fatalf("%q", got)
		}
	}
	if !strings.HasSuffix(got[2], " 1m0s") {
		t.Error(got[2])
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
			f, notifier := start(t, twilio.Config{})
			f.instead = func(w http.ResponseWriter, _ *http.Request) {
				if tt.after != "" {
					w.Header().Set("Retry-After", tt.after)
				}
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}
			err := notifier.Notify(t.Context(), own(channels.SMS), down())
			if err == nil {
				t.Fatal("no error")
			}
			if status, _ := errors.AsType[*outbound.StatusError](err); status == nil || status.Status != tt.status {
				t.Errorf("the status is not in the error: %v", err)
			}
			delay, _ := channels.RetryDelay(err)
			if channels.IsPermanent(err) != tt.permanent || delay != tt.delay || channels.Accepted(err) != nil {
				t.Errorf("permanent %v, delay %v: %v", channels.IsPermanent(err), delay, err)
			}
			if strings.Contains(err.Error(), ownToken) {
				t.Errorf("the token is in the error: %v", err)
			}
		})
	}
}

// TestNotTwilio checks that the page of a proxy is no success.
func TestNotTwilio(t *testing.T) {
	for body, want := range map[string]string{
		"<html>Sign in</html>": "the answer is not from Twilio: it is not JSON", `{"ok":true}`: "the answer is not from Twilio: it has no sid",
	} {
		f, notifier := start(t, twilio.Config{})
		f.instead = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
		err := notifier.Notify(t.Context(), own(channels.SMS), down())
		if fmt.Sprint(err) != want || channels.IsPermanent(err) || channels.Accepted(err) != nil {
			t.Error(err)
		}
	}
}

func TestWrongCredentials(t *testing.T) {
	for _, c := range []channels.Channel{
		own(channels.SMS, "auth_token", "wrong"), own(channels.Call, "auth_token", "", "api_key", apiKey, "api_secret", "wrong"),
	} {
		f, notifier := start(t, twilio.Config{})
		err := notifier.Notify(t.Context(), c, down())
		if status, _ := errors.AsType[*outbound.StatusError](err); status == nil || status.Status != 401 || channels.IsPermanent(err) || len(f.made) > 0 {
			t.Error(err)
		}
	}
}

func TestNoAccount(t *testing.T) {
	account := twilio.Config{AccountSID: serverAccount, AuthToken: serverToken}
	texts, whatsApp := account, account
	texts.From, whatsApp.WhatsAppFrom = "Rollcall", "+37129999999"
	for _, tt := range []struct {
		config twilio.Config
		kind   channels.Kind
	}{
		{twilio.Config{}, channels.SMS}, {twilio.Config{}, channels.WhatsApp}, {twilio.Config{}, channels.Call},
		{texts, channels.WhatsApp}, {texts, channels.Call}, {whatsApp, channels.SMS}, {whatsApp, channels.Call},
	} {
		f, notifier := start(t, tt.config)
		f.instead = func(http.ResponseWriter, *http.Request) { t.Error("a request was made") }
		err := notifier.Notify(t.Context(), shared(tt.kind), down())
		if lacks, ok := errors.AsType[*channels.NotConfiguredError](err); !ok || lacks.Kind != tt.kind || channels.IsPermanent(err) {
			t.Error(tt.kind, err)
		}
		types, err := twilio.New(&tt.config)
		if err != nil {
			t.Fatal(err)
		}
		of := func(settings map[string]string) error {
			return types[slices.IndexFunc(types, func(t channels.Type) bool { return t.Kind == tt.kind })].Ready(t.Context(), settings)
		}
		if _, lacks := errors.AsType[*channels.NotConfiguredError](of(shared(tt.kind).Settings)); !lacks {
			t.Errorf("%s is ready without an account", tt.kind)
		}
		if err := of(own(tt.kind).Settings); err != nil {
			t.Errorf("%s with its own account is not ready: %v", tt.kind, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f, notifier := start(t, twilio.Config{})
	f.instead = func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // or the server would not notice that the client is gone
		cancel()
		<-r.Context().Done()
	}
	if err := notifier.Notify(ctx, own(channels.SMS), down()); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), ownAccount) {
		t.Error(err)
	}
}

// TestCancelledWhileWaiting checks that an attempt that ends early keeps the identifier of the message.
func TestCancelledWhileWaiting(t *testing.T) {
	f, _ := start(t, twilio.Config{}, "queued")
	server := httptest.NewServer(f)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	types, err := twilio.New(&twilio.Config{BaseURL: server.URL, Client: server.Client(), After: func(time.Duration) <-chan time.Time {
		cancel()
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	err = types[0].Notifier.Notify(ctx, own(channels.SMS), down())
	if !errors.Is(err, context.Canceled) || channels.IsPermanent(err) || len(channels.Accepted(err)) != 1 {
		t.Error(err, channels.Accepted(err))
	}
}

func TestPrivateNetwork(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was made") }))
	defer server.Close()
	types, err := twilio.New(&twilio.Config{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := types[0].Notifier.Notify(t.Context(), own(channels.SMS), down()); !errors.Is(err, outbound.ErrPrivateAddress) {
		t.Error(err)
	}
}

func TestNew(t *testing.T) {
	account := twilio.Config{AccountSID: serverAccount, AuthToken: serverToken}
	with := func(change func(*twilio.Config)) twilio.Config {
		c := account
		change(&c)
		return c
	}
	tests := []struct {
		config twilio.Config
		want   string
	}{
		{twilio.Config{AccountSID: serverAccount}, "sms: auth_token is missing, account_sid needs it or api_key"},
		{twilio.Config{AccountSID: serverAccount, APIKey: apiKey, From: "Rollcall"}, "sms: api_secret is missing, api_key needs it"},
		{account, "sms: from and messaging_service_sid are both missing, account_sid needs one"},
		{twilio.Config{AccountSID: "../x", AuthToken: serverToken, From: "x"}, "sms: account_sid is not AC and 32 hexadecimal digits"},
		{with(func(c *twilio.Config) { c.WhatsAppFrom = "Rollcall" }), "whatsapp: from is not a phone number: + and 7 to 15 digits, such as +37120000000"},
		{with(func(c *twilio.Config) { c.From, c.WhatsAppContentSID = "x", template }),
			"whatsapp: from and messaging_service_sid are both missing, account_sid needs one"},
		{with(func(c *twilio.Config) { c.CallFrom = "12345" }), "call: from is not a phone number: + and 7 to 15 digits, such as +37120000000"},
		{with(func(c *twilio.Config) { c.CallFrom = "+37129999999" }), "<nil>"},
		{twilio.Config{BaseURL: "ftp://example.org/" + serverToken}, "twilio: the base URL is not an http:// or https:// URL"},
		{twilio.Config{BaseURL: "http://%zz" + serverToken}, "twilio: the base URL is not an http:// or https:// URL"},
	}
	for _, tt := range tests {
		if _, err := twilio.New(&tt.config); cmp.Diff(tt.want, fmt.Sprint(err)) != "" {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	if _, err := twilio.New(nil); err != nil {
		t.Error(err)
	}
}

func ExampleNew() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			fmt.Println(r.FormValue("From"), "to", r.FormValue("To"))
		}
		fmt.Fprint(w, `{"sid": "SM00000000000000000000000000000001", "status": "delivered"}`)
	}))
	defer api.Close()
	types, err := twilio.New(&twilio.Config{
		AccountSID: "AC00000000000000000000000000000002",
		AuthToken:  "token",
		From:       "Rollcall",
		BaseURL:    api.URL,
		Client:     api.Client(), // instead of the one that refuses private networks
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := channels.Channel{Kind: channels.SMS, Settings: map[string]string{"to": "+37120000000"}}
	n := channels.Notification{Check: channels.Check{Name: "backup"}, Status: channels.Down}
	fmt.Println(types[0].Notifier.Notify(context.Background(), c, n))
	// Output:
	// Rollcall to +37120000000
	// <nil>
}
