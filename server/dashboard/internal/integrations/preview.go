package integrations

import (
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// preview is what an integration would send.
type preview struct {
	// Text is the message or the request, or "" if the settings are not valid.
	Text string
	// Status is what the check of the alert does, or "" if the kind is unknown.
	Status channels.Status
	// Own says that the kind has made the text. Otherwise it is what messages have in common.
	Own bool
}

// maxPreview bounds a preview, in characters.
const maxPreview = 4000

// previewOf returns what a channel would send for a check that goes down, or for one that is up again if it gets no other alerts.
// Values with a source, which are secrets that their kind does not know, are "…".
func previewOf(q *ui.Request, info channels.Type, c channels.Channel) preview {
	c.Settings = maps.Clone(c.Settings)
	for _, s := range info.AllSettings() {
		if c.Sources[s.Name] != "" && !s.Secret && c.Settings[s.Name] != "" {
			c.Settings[s.Name] = "…"
		}
	}
	for _, status := range []channels.Status{channels.Down, channels.Up} {
		if !c.Wants(status) {
			continue
		}
		p := preview{Status: status, Own: info.Preview != nil}
		if p.Own {
			p.Text = info.Preview(c, sampleAlert(q, status))
		} else {
			title, text := message.Render(sampleAlert(q, status), nil, 0)
			p.Text = title + "\n" + text
		}
		if p.Text != "" {
			p.Text = words.Cut(strings.TrimSpace(p.Text), maxPreview)
			return p
		}
	}
	return preview{Status: channels.Down, Own: true}
}

// sampleAlert is an alert about a check that does not exist.
func sampleAlert(q *ui.Request, status channels.Status) channels.Notification {
	at := q.Mon.Now().Truncate(time.Minute)
	output := []byte("copying 48 files\nbackup.tar: no space left on device\n")
	id := func(n byte) uuid.UUID { return uuid.UUID{6: 0x40, 8: 0x80, 15: n} } // seen to be invented
	n := channels.Notification{
		ID: id(1).String(), Incident: id(2).String(), Status: status, At: at,
		Check: channels.Check{
			ID: id(3), Name: "nightly-backup", Slug: "nightly-backup", Tags: []string{"prod"}, Project: q.Project.Name,
			Timing: "0 3 * * * (" + q.Clock().Zone.String() + "), 1 hour of grace", TZ: q.Clock().Zone.String(), NPings: 214, URL: q.URL + "/checks/…",
		},
		Ping:   channels.Ping{At: at, Kind: "fail", ExitStatus: new(2), Duration: 41 * time.Second, Body: output, End: output},
		Reason: "the job reported a failure, exit status 2", Cause: "backup.tar: no space left on device",
	}
	if status == channels.Up {
		n.Ping = channels.Ping{At: at, Kind: "success", ExitStatus: new(0), Duration: 41 * time.Second}
		n.Reason, n.Cause, n.DownFor = "the job reported success", "", 24*time.Hour
	}
	return n
}
