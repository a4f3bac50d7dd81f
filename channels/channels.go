// Package channels holds the integrations of a project: the places to which its alerts go.
//
// A [Channel] is one integration (section 2.4 of the [API]): an e-mail address, a webhook, a phone number. Requests that
// create and update checks assign channels by a text: "*" for all of them, or a list of names and UUIDs such as "On
// call,Ops".
//
// A [Type] is a kind of channel: it documents the settings, and has the [Notifier] that delivers. Package standard lists
// those of Rollcall. A program adds its own kind to the Config.Channels of its monitor:
//
//	monitor.Config{Channels: []channels.Type{{
//		Kind:     "pager",
//		Settings: []channels.Setting{{Name: "number", Doc: "Whom to call.", Required: true}},
//		Notifier: channels.NotifierFunc(call),
//	}}}
//
// A Notifier delivers a [Notification] to a channel. It marks errors with [Permanent] if a retry is useless, and keeps
// secrets out of them with [Redact]. With several recipients it uses [Each], so that a retry leaves out those that have
// the alert. If its receiver keeps an incident open until it is closed, it is an [IncidentNotifier].
//
// The package does no input or output and is safe for concurrent use.
//
// [API]: https://github.com/rollcall-dev/rollcall/blob/main/server/API.md
package channels

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// A Channel is one place to which a project's alerts go.
type Channel struct {
	// ID identifies the channel.
	ID uuid.UUID
	// ProjectID is the project of the channel.
	ProjectID uuid.UUID
	// Name is the name that the user chose. It may be empty, and other channels may have the same. Only a name that is
	// non-empty, unique and free of commas can assign the channel.
	Name string
	// Kind decides how the channel delivers.
	Kind Kind
	// Settings are the settings by name, as [Validate] returned them. They may hold passwords and tokens, so String,
	// GoString, LogValue and encoding/json leave out their values.
	Settings map[string]string `json:"-"`
	// Sources maps a setting to the origin of its value: "$NAME" for an environment variable, "file PATH" for a file.
	// Such a value is secret, even if its kind does not say so. Package declare sets and exports the map; it is nil if
	// all values were given literally.
	Sources map[string]string
	// Hidden names the settings that have a value which Settings lacks, because a server does not show it to its clients. A
	// monitor shows all values.
	Hidden []string
	// CreatedAt is when the channel was created, in UTC.
	CreatedAt time.Time
	// FailedAt is when a delivery to the channel last failed for good, in UTC. It is the zero time if a later delivery
	// succeeded. Error is the reason, at most 500 characters.
	FailedAt time.Time
	Error    string
}

// Wants reports whether the channel gets alerts about a status, by its [NotifySetting].
func (c Channel) Wants(s Status) bool {
	only := Status(c.Settings[NotifySetting])
	return only != Down && only != Up || only == s
}

// LogValue describes the channel for a log: its identifiers, name and kind, and the names of its settings without their
// values.
func (c Channel) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("id", c.ID.String()),
		slog.String("project_id", c.ProjectID.String()),
		slog.String("name", c.Name),
		slog.String("kind", string(c.Kind)),
		slog.String("settings", c.settingNames()),
	)
}

// String describes the channel like [Channel.LogValue], so that package fmt prints no secret.
func (c Channel) String() string {
	return fmt.Sprintf("%s channel %s %q (settings: %s)", c.Kind, c.ID, c.Name, c.settingNames())
}

// GoString returns the text of [Channel.String], for the verb %#v.
func (c Channel) GoString() string { return c.String() }

// settingNames lists the names of the settings in alphabetical order.
func (c Channel) settingNames() string {
	return strings.Join(slices.Sorted(maps.Keys(c.Settings)), ",")
}
