// Command notifier adds a kind of integration, "chat". It assigns one to a check, reports a failure of the check and delivers
// the alert. Its arguments are the database file and the URL to post alerts to.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
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

// web connects to this machine, too. If strangers create channels, leave that at its default.
var web = outbound.New(&outbound.Config{AllowPrivateNetworks: true})

// post delivers an alert. channels.NotifierFunc makes it a channels.Notifier.
func post(ctx context.Context, c channels.Channel, n channels.Notification) error {
	text := fmt.Sprintf("%s is %s: %s", n.Check.Name, n.Status, n.Reason)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Settings["url"], strings.NewReader(text))
	if err != nil {
		return channels.Permanent(errors.New("the setting url is not a URL")) // the URL itself is a secret
	}
	req.Header.Set("Idempotency-Key", n.ID) // a retry has the same key
	_, err = outbound.Do(web, req)          // a status of 410 is permanent; others are retried
	return err
}

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	store, err := sqlite.Open(ctx, os.Args[1])
	check(err)
	defer store.Close()
	mon, err := monitor.New(store, &monitor.Config{Channels: []channels.Type{chat}})
	check(err)
	project, err := mon.OpenProject(ctx, "jobs")
	check(err)
	_, _, err = project.UpsertChannel(ctx, channels.Channel{Kind: "chat", Name: "ops", Settings: map[string]string{"url": os.Args[2]}})
	check(err)
	backup, _, err := project.Upsert(ctx, checks.Spec{Slug: new("backup"), Channels: new("ops")}, checks.UniqueSlug)
	check(err)

	for _, signal := range []pings.Signal{{Kind: pings.Success}, {Kind: pings.Failure, ExitStatus: new(3)}} {
		_, err = mon.Ping(ctx, backup.ID, signal)
		check(err)
		check(mon.Tick(ctx)) // delivers alerts, as Start does all the time
	}
	for d, err := range project.Deliveries(ctx, checks.DeliveryQuery{Check: backup.ID, Limit: 1}) {
		check(err)
		fmt.Println(d.State, d.Error)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
