// Command notifier adds a kind of integration, "chat". It assigns one to a check, reports a failure of the check and waits
// for the delivery of the alert. Its arguments are the database file and the URL to post alerts to.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/pings"
)

// chat is the kind: its settings, and what delivers the alerts.
var chat = channels.Type{
	Kind:     "chat",
	Doc:      "Posts a line to a chat room.",
	Settings: []channels.Setting{{Name: "url", Doc: "Where to post.", Required: true, Secret: true}},
	Notifier: channels.NotifierFunc(post),
}

// post delivers an alert. channels.NotifierFunc makes it a channels.Notifier.
func post(ctx context.Context, c channels.Channel, n channels.Notification) error {
	text := fmt.Sprintf("%s is %s: %s", n.Check.Name, n.Status, n.Reason)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Settings["url"], strings.NewReader(text))
	if err != nil {
		return channels.Permanent(errors.New("the setting url is not a URL")) // the URL itself is a secret
	}
	req.Header.Set("Idempotency-Key", n.ID) // a retry has the same key
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return errors.New("the chat server cannot be reached")
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode < 300:
		return nil
	case res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone:
		return channels.Permanent(fmt.Errorf("the chat room does not exist (status %d)", res.StatusCode))
	}
	return fmt.Errorf("the chat server answers with status %d", res.StatusCode) // will be retried
}

func main() {
	log.SetFlags(0)
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	store, err := sqlite.Open(ctx, os.Args[1])
	check(err)
	defer store.Close()
	mon, err := monitor.New(store, &monitor.Config{Channels: []channels.Type{chat}})
	check(err)
	check(mon.Start(ctx)) // delivers alerts

	project, err := mon.OpenProject(ctx, "jobs")
	check(err)
	ops, _, err := project.UpsertChannel(ctx, channels.Channel{Kind: "chat", Name: "ops", Settings: map[string]string{"url": os.Args[2]}})
	check(err)
	spec := checks.Spec{Name: new("backup"), Channels: new(ops.ID.String())}
	backup, _, err := project.Upsert(ctx, spec, checks.UniqueName)
	check(err)
	for _, signal := range []pings.Signal{{Kind: pings.Success}, {Kind: pings.Failure, ExitStatus: new(3)}} {
		_, err = mon.Ping(ctx, backup.ID, signal)
		check(err)
	}
	for ctx.Err() == nil {
		for d, err := range project.Deliveries(ctx, monitor.DeliveryQuery{Check: backup.ID, Limit: 1}) {
			check(err)
			if d.Attempts > 0 && (d.State != monitor.DeliveryPending || d.Error != "") {
				fmt.Println(d.State, d.Error)
				check(mon.Stop(ctx))
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	log.Fatal(ctx.Err())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
