package webhook_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/webhook"
)

func ExampleNew() {
	chat := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(r.Method, r.RequestURI, string(body))
	}))
	defer chat.Close()
	client := outbound.New(&outbound.Config{AllowPrivateNetworks: true})
	defer client.CloseIdleConnections()
	notifier := webhook.New(&webhook.Config{Client: client}).Notifier

	c := channels.Channel{Kind: channels.Webhook, Settings: map[string]string{
		"url_down":  chat.URL + "/post?topic=$TAG1",
		"body_down": `{"text": $NAME_JSON, "why": $REASON_JSON}`,
	}}
	n := channels.Notification{
		ID: "1", Status: channels.Down, Reason: "no ping in time",
		Check: channels.Check{Name: `the "nightly" one`, Tags: []string{"db/prod"}},
	}
	fmt.Println(notifier.Notify(context.Background(), c, n))
	// Output:
	// POST /post?topic=db%2Fprod {"text": "the \"nightly\" one", "why": "no ping in time"}
	// <nil>
}

// A receiver checks that a request comes from Rollcall.
func ExampleVerify() {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	receiver := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			return
		}
		if err := webhook.Verify(secret, r.Header, body, time.Now()); err != nil {
			fmt.Println(err)
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		fmt.Println("alert", r.Header.Get("webhook-id")) // drop it if you have seen it before
	}
	server := httptest.NewServer(http.HandlerFunc(receiver))
	defer server.Close()
	client := outbound.New(&outbound.Config{AllowPrivateNetworks: true})
	defer client.CloseIdleConnections()
	notifier := webhook.New(&webhook.Config{Client: client}).Notifier
	for _, s := range []string{secret, "not the same secret"} {
		c := channels.Channel{Settings: map[string]string{"url_up": server.URL, "secret": s}}
		fmt.Println(notifier.Notify(context.Background(), c, channels.Notification{ID: "n1", Status: channels.Up}))
	}
	// Output:
	// alert n1
	// <nil>
	// webhook: invalid signature: no signature matches the secret
	// the receiver answered with status 401 Unauthorized: webhook: invalid signature: no signature matches the secret
}
