package webhook_test

import (
	"encoding/json"
	"errors"
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
	"github.com/rollcall-dev/rollcall/channels/webhook"
)

type settings = map[string]string

// now is the clock of the tests.
var now = time.Date(2026, 3, 15, 4, 1, 2, 345, time.UTC)

func down() channels.Notification {
	return channels.Notification{
		ID: "n1", Incident: "i1", Status: channels.Down, At: now.Add(-time.Minute), Reason: "exit status 3", Cause: `tar: "/b": full`,
		Check: channels.Check{
			ID: uuid.MustParse("5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f"), Name: "nightly backup", Slug: "nightly",
			Tags: []string{"db", "", "prod"}, Desc: "Copies /home.", Project: "backups", Timing: "every hour", NPings: 12,
			URL: "https://rollcall.example.org/api/v3/checks/x",
		},
		Ping: channels.Ping{At: now.Add(-time.Minute), Kind: "fail", ExitStatus: new(3), Duration: 41*time.Second + 20*time.Millisecond,
			Body: []byte("disk \"full\"\n<&\xff"), End: []byte("full\"\n<&\xff")},
	}
}

func up() channels.Notification {
	n := down()
	n.ID, n.Status, n.DownFor, n.Ping = "n2", channels.Up, 90*time.Minute+time.Millisecond, channels.Ping{}
	return n
}

// request is a request that a receiver got.
type request struct {
	Method, URI, Body string
	Header            http.Header
}

// receive starts a receiver and returns a notifier that can reach it.
func receive(t *testing.T, status int) (channels.Notifier, string, <-chan request) {
	t.Helper()
	got := make(chan request, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- request{r.Method, r.RequestURI, string(body), r.Header}
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	client := outbound.New(&outbound.Config{AllowPrivateNetworks: true})
	t.Cleanup(client.CloseIdleConnections)
	return webhook.New(&webhook.Config{Client: client, Now: func() time.Time { return now }}).Notifier, server.URL, got
}

// channel validates the settings of a user.
func channel(t *testing.T, given settings) channels.Channel {
	t.Helper()
	valid, err := channels.Validate([]channels.Type{webhook.New(nil)}, channels.Webhook, given, nil)
	if err != nil {
		t.Fatal(err)
	}
	return channels.Channel{Kind: channels.Webhook, Settings: valid}
}

// send delivers one alert and returns what arrived.
func send(t *testing.T, n channels.Notification, given settings) request {
	t.Helper()
	notifier, url, got := receive(t, 200)
	for name, value := range given {
		given[name] = strings.ReplaceAll(value, "http://receiver", url)
	}
	if err := notifier.Notify(t.Context(), channel(t, given), n); err != nil {
		t.Fatal(err)
	}
	return <-got
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestDefaultDocument(t *testing.T) {
	n := down()
	n.Earlier = []channels.Change{{Status: channels.Up, At: now, Reason: "ping"}}
	n.Over, n.Reminder, n.Test, n.AckURL = now, 2, true, "https://rollcall.example.org/acknowledge/x"
	got := send(t, n, settings{"url_down": "http://receiver/"})
	const want = `{"id":"n1","incident":"i1","type":"check.down","status":"down","at":"2026-03-15T04:00:02+00:00","reason":"exit status 3","cause":"tar: \"/b\": full",` +
		`"check":{"uuid":"5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f","name":"nightly backup","slug":"nightly","tags":"db  prod","desc":"Copies /home.",` +
		`"project":"backups","timing":"every hour","n_pings":12,"status":"down","last_ping":"2026-03-15T04:00:02+00:00",` +
		`"url":"https://rollcall.example.org/api/v3/checks/x"},` +
		`"ping":{"at":"2026-03-15T04:00:02+00:00","kind":"fail","exit_status":3,"duration":41.02,"body":"disk \"full\"\n<&\ufffd","body_end":"full\"\n<&\ufffd"},` +
		`"down_for":0,"reminder":2,"over":"2026-03-15T04:01:02+00:00",` +
		`"earlier":[{"status":"up","at":"2026-03-15T04:01:02+00:00","reason":"ping"}],"test":true,"ack_url":"https://rollcall.example.org/acknowledge/x"}`
	equal(t, "body", got.Body, want)
	equal(t, "request", []string{got.Method, got.URI}, []string{"POST", "/"})
	var headers []string
	for _, name := range []string{"Content-Type", "User-Agent", "Idempotency-Key", "Webhook-Id", "Webhook-Signature"} {
		headers = append(headers, got.Header.Get(name))
	}
	equal(t, "headers", headers, []string{"application/json", "rollcall", "n1", "", ""})

	got = send(t, up(), settings{"url_up": "http://receiver/"})
	var document map[string]any
	if err := json.Unmarshal([]byte(got.Body), &document); err != nil {
		t.Fatal(err)
	}
	equal(t, "type", []any{document["type"], document["down_for"], document["ping"], document["earlier"], document["over"]},
		[]any{"check.up", 5400.0, nil, []any{}, nil})
}

func TestDirections(t *testing.T) {
	notifier, url, got := receive(t, 204)
	c := channel(t, settings{
		"url_down": url + "/down", "method_down": "PUT", "body_down": "it is $STATUS", "headers_down": "X-To: down\n\nX-To:two\r\nUser-Agent: mine\ncontent-type: text/plain",
		"url_up": url + "/up", "method_up": "GET", "body_up": "not sent", "headers_up": "Authorization: Bearer $SLUG",
	})
	for _, n := range []channels.Notification{down(), up()} {
		if err := notifier.Notify(t.Context(), c, n); err != nil {
			t.Fatal(err)
		}
	}
	first, second := <-got, <-got
	equal(t, "down", []any{first.Method, first.URI, first.Body, first.Header["X-To"], first.Header["User-Agent"], first.Header["Content-Type"]},
		[]any{"PUT", "/down", "it is down", []string{"down", "two"}, []string{"mine"}, []string{"text/plain"}})
	equal(t, "up", []any{second.Method, second.URI, second.Body, second.Header.Get("Authorization"), second.Header["Content-Type"]},
		[]any{"GET", "/up", "", "Bearer nightly", []string(nil)})

	for _, given := range []settings{{"url_up": url}, {"url_down": url}} {
		n := down()
		if given["url_down"] != "" {
			n = up()
		}
		if err := notifier.Notify(t.Context(), channel(t, given), n); err != nil || len(got) > 0 {
			t.Errorf("%v, %d requests", err, len(got))
		}
	}
}

func TestPlaceholders(t *testing.T) {
	tests := []struct{ template, want string }{
		{"$NAME|$SLUG|$PROJECT|$STATUS|$REASON", "nightly backup|nightly|backups|down|exit status 3"},
		{`{"text": "$REASON", "why": $CAUSE_JSON} $CAUSE`, `{"text": "exit status 3", "why": "tar: \"/b\": full"} tar: "/b": full`},
		{"$UUID $CODE", "5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f 5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f"},
		{"$TAGS|$TAG1|$TAG2|$TAG3|$TAG10|$TAG0|$TAG", "db  prod|db|prod|||$TAG0|$TAG"},
		{"$NOW $AT", "2026-03-15T04:01:02+00:00 2026-03-15T04:00:02+00:00"},
		{"$ID $INCIDENT $DOWNFOR $EXITSTATUS", "n1 i1 0 3"},
		{"$BODY", "disk \"full\"\n<&\ufffd"},
		{"$BODYEND|$DURATION $BODYEND_JSON $DURATION_JSON", "full\"\n<&\ufffd|41.02 \"full\\\"\\n<&\ufffd\" 41.02"},
		{"$BODY_JSON $NAME_JSON $TAG1_JSON $TAG9_JSON $STATUS_JSON", `"disk \"full\"\n<&` + "\ufffd" + `" "nightly backup" "db" "" "down"`},
		{"$EXITSTATUS_JSON $DOWNFOR_JSON $NOW_JSON", `3 0 "2026-03-15T04:01:02+00:00"`},
		{"$$NAMETAG1 $NAME_down $STATUSES", "$nightly backupTAG1 nightly backup_down downES"},
		{"$ $name $NAM $UNKNOWN $5 100$", "$ $name $NAM $UNKNOWN $5 100$"},
		{"$NAME_JSONx$NAME_JSO", `"nightly backup"xnightly backup_JSO`},
	}
	for _, tt := range tests {
		equal(t, tt.template, send(t, down(), settings{"url_down": "http://receiver/", "body_down": tt.template}).Body, tt.want)
	}
	got := send(t, up(), settings{"url_up": "http://receiver/", "body_up": "$EXITSTATUS $EXITSTATUS_JSON $DURATION $DURATION_JSON $DOWNFOR $BODY_JSON"})
	equal(t, "without a ping", got.Body, `-1 null -1 null 5400 ""`)
	got = send(t, down(), settings{"url_down": "http://receiver/", "body_down": "$JSON"})
	var document map[string]any
	if err := json.Unmarshal([]byte(got.Body), &document); err != nil || document["name"] != "nightly backup" || document["status"] != "down" {
		t.Errorf("%s, %v", got.Body, err)
	}
}

// TestHostileValues uses values that look like JSON, headers or placeholders.
func TestHostileValues(t *testing.T) {
	n := down()
	n.Check.Name = "$STATUS/../?a=b&c#d %41+\"\r\nX-Evil: 1 ä"
	n.Check.Slug, n.Check.Tags = "$NAME", []string{"$TAG2", "$BODY"}
	got := send(t, n, settings{
		"url_down":     "http://receiver/x/$NAME/$SLUG?n=$NAME&t=$TAG1#$NAME",
		"body_down":    "$NAME $SLUG $TAGS $TAG1",
		"headers_down": "X-Name: $NAME",
	})
	const rest = "%2F%3Fa%3Db%26c%23d%20%2541%2B%22%0D%0AX-Evil%3A%201%20%C3%A4"
	equal(t, "URI", got.URI, "/x/%24STATUS%2F%252E%252E"+rest+"/%24NAME?n=%24STATUS%2F.."+rest+"&t=%24TAG2")
	equal(t, "body", got.Body, n.Check.Name+" $NAME $TAG2 $BODY $TAG2")
	equal(t, "header", got.Header["X-Name"], []string{"$STATUS/../?a=b&c#d %41+\"  X-Evil: 1 ä"})
	equal(t, "another header", got.Header["X-Evil"], []string(nil))

	n.ID = "a\r\nX-Evil: 1"
	got = send(t, n, settings{"url_down": "http://receiver/", "secret": "0123456789abcdef"})
	equal(t, "identifier", got.Header.Get("Idempotency-Key"), "a  X-Evil: 1")
	equal(t, "identifier, signed", got.Header.Get("Webhook-Id"), "a  X-Evil: 1")

	n.Ping.Body = []byte(strings.Repeat("\x01ä", 5000))
	got = send(t, n, settings{"url_down": "http://receiver/?$BODY", "headers_down": "X-Body: $BODY", "body_down": "$BODY"})
	equal(t, "lengths", []int{len(got.URI), len(got.Header.Get("X-Body")), len(got.Body)},
		[]int{len("/?") + 500*6 + 500*3, 500*2 + 499, 15000})
}

// TestTooLong repeats a long value many times in one template.
func TestTooLong(t *testing.T) {
	notifier, url, got := receive(t, 200)
	n := down()
	n.Ping.Body = []byte(strings.Repeat("\x01", channels.MaxBody))
	for _, given := range []settings{
		{"url_down": url, "body_down": strings.Repeat("$BODY_JSON", 1000)},
		{"url_down": url + "?" + strings.Repeat("$BODY", 100)},
		{"url_down": url, "headers_down": "A: " + strings.Repeat("$BODY", 100)},
	} {
		err := notifier.Notify(t.Context(), channel(t, given), n)
		if !channels.IsPermanent(err) || !strings.Contains(err.Error(), "is too long once its placeholders are replaced") || len(got) > 0 {
			t.Errorf("%v, %d requests", err, len(got))
		}
	}
}

func TestErrors(t *testing.T) {
	for status, permanent := range map[int]bool{410: true, 404: false, 401: false, 500: false, 302: false} {
		notifier, url, _ := receive(t, status)
		err := notifier.Notify(t.Context(), channel(t, settings{"url_down": url + "/s3cret"}), down())
		e, ok := errors.AsType[*outbound.StatusError](err)
		if !ok || e.Status != status || channels.IsPermanent(err) != permanent || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%d: %v", status, err)
		}
	}
	notifier := webhook.New(nil).Notifier
	err := notifier.Notify(t.Context(), channel(t, settings{"url_down": "http://127.0.0.1:1/s3cret"}), down())
	if !errors.Is(err, outbound.ErrPrivateAddress) || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
	for _, given := range []settings{ // which validation refuses
		{"url_down": "http://u:s3cret@h:x/"}, {"url_down": "http://h/", "method_down": "no method"},
		{"url_down": "http://h/", "secret": "whsec_s3cret*"}, {"url_down": "http://h/", "headers_down": "s3cret"},
	} {
		err := notifier.Notify(t.Context(), channels.Channel{Settings: given}, down())
		if !channels.IsPermanent(err) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v: %v", given, err)
		}
	}
}

// TestPreview compares previews with what a receiver gets: the same method, headers and body, of which only line breaks differ. Values
// that can be secret are "…".
func TestPreview(t *testing.T) {
	notifier, url, got := receive(t, http.StatusOK)
	preview := webhook.New(&webhook.Config{Now: func() time.Time { return now }}).Preview
	const key = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	for name, s := range map[string]settings{
		"plain":    {"url_down": url + "/s3cret"},
		"signed":   {"url_down": url + "/s3cret", "secret": key},
		"template": {"url_down": url + "/$NAME", "method_down": "PUT", "body_down": "$NAME is $STATUS", "headers_down": "X-Token: s3cret\nContent-Type: text/plain"},
		"get":      {"url_down": url + "/?k=s3cret", "method_down": "GET"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := notifier.Notify(t.Context(), channels.Channel{Settings: s}, down()); err != nil {
				t.Fatal(err)
			}
			sent, text := <-got, preview(channels.Channel{Settings: s}, down())
			head, body, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
			first, lines, _ := strings.Cut(head, "\n")
			if want := sent.Method + " " + url + "/…"; first != want {
				t.Errorf("%q, want %q", first, want)
			}
			sent.Header.Del("Accept-Encoding")
			sent.Header.Del("Content-Length")
			header := http.Header{}
			for line := range strings.Lines(lines) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				header.Set(name, value)
				if strings.HasSuffix(value, "…") && sent.Header.Get(name) != "" {
					sent.Header.Set(name, value)
				}
			}
			if diff := cmp.Diff(sent.Header, header); diff != "" {
				t.Errorf("headers (-sent +shown):\n%s", diff)
			}
			if strings.ReplaceAll(strings.ReplaceAll(sent.Body, "\n", ""), " ", "") != strings.ReplaceAll(strings.ReplaceAll(body, "\n", ""), " ", "") {
				t.Errorf("the body is %s, sent was %s", body, sent.Body)
			}
			if strings.Contains(text, "s3cret") {
				t.Errorf("a secret is shown: %s", text)
			}
		})
	}
	if text := preview(channels.Channel{Settings: settings{"url_up": url}}, down()); text != "" {
		t.Errorf("shown, and not sent: %s", text)
	}
	if text := preview(channels.Channel{}, down()); !strings.HasPrefix(text, "POST https://…\n") {
		t.Errorf("without a URL: %s", text)
	}
	if text := preview(channels.Channel{Settings: settings{"url_down": "ht!tp://x y"}}, down()); text != "" {
		t.Errorf("of a wrong URL: %s", text)
	}
}
