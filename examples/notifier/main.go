// Command notifier has a kind of channel of its own, "chat", and sends a test alert by it. Its argument is the URL that
// alerts are posted to.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
)

// chat is the kind, with the settings that a channel of it has. A monitor gets it by
// monitor.Config{Kinds: append(channels.Kinds(), chat())}.
func chat() channels.KindInfo {
	return channels.KindInfo{
		Kind:     "chat",
		Doc:      "Posts a line to a chat room.",
		Settings: []channels.Setting{{Name: "url", Doc: "Where to post.", Required: true, Secret: true}},
	}
}

// post delivers an alert. It is a channels.Notifier by channels.NotifierFunc.
func post(ctx context.Context, c channels.Channel, n channels.Notification) error {
	text := fmt.Sprintf("%s is %s since %s: %s", n.Check.Name, n.Status, n.At.Format(time.RFC1123), n.Reason)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Settings["url"], strings.NewReader(text))
	if err != nil {
		return channels.Permanent(fmt.Errorf("the setting url is not a URL")) // without the URL, which is a secret
	}
	req.Header.Set("Idempotency-Key", n.ID) // the same when the delivery is tried again
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("the chat server cannot be reached")
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode < 300:
		return nil
	case res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone:
		return channels.Permanent(fmt.Errorf("the chat room does not exist (status %d)", res.StatusCode))
	}
	return fmt.Errorf("the chat server answers with status %d", res.StatusCode) // is tried again
}

func main() {
	log.SetFlags(0)
	settings, err := channels.Validate([]channels.KindInfo{chat()}, "chat", map[string]string{"url": os.Args[1]})
	if err != nil {
		log.Fatal(err)
	}
	room := channels.Channel{Name: "ops", Kind: "chat", Settings: settings}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var notifier channels.Notifier = channels.NotifierFunc(post)
	err = notifier.Notify(ctx, room, channels.Notification{
		ID: "test-1", Check: channels.Check{Name: "backup"}, Status: channels.Down,
		At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Reason: "the ping is overdue", Test: true,
	})
	if err != nil {
		log.Fatalf("%v (try again: %t)", err, !channels.IsPermanent(err))
	}
}
