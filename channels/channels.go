// Package channels holds the integrations of a project: where its alerts go.
//
// A [Channel] is one integration (API-V3.md section 2.4): an e-mail address, a
// webhook, a phone number. Checks are assigned to channels by a text in the
// requests that create and update them, which [Select] resolves:
//
//	ids, err := channels.Select(available, "*")         // all of them
//	ids, err = channels.Select(available, "On call,Ops") // by name or by UUID
//
// What a channel needs to deliver depends on its [Kind]. A [KindInfo] documents
// the settings of one kind, and [Validate] checks a channel's settings against
// it before the channel is stored:
//
//	settings, err := channels.Validate(channels.Kinds(), channels.Email,
//		map[string]string{"to": "ops@example.org"})
//
// A [Notifier] delivers: it is the one method that a program implements to add
// a kind of its own, beside a [KindInfo] appended to [Kinds]. It is given a
// [Notification], and tells by [Permanent] that trying again is useless.
//
// The package does no input or output, and its functions can be used by several
// goroutines at once.
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

// A Channel is an integration of a project: one place to which alerts go.
type Channel struct {
	// ID identifies the channel.
	ID uuid.UUID
	// ProjectID is the project that the channel belongs to.
	ProjectID uuid.UUID
	// Name is the name given by the user. It may be empty, and several channels
	// may have the same; only a name that is non-empty, unique and free of
	// commas can be used to assign the channel (API-V3.md section 2.4).
	Name string
	// Kind tells how the channel delivers.
	Kind Kind
	// Settings are the settings of the channel, by name, as [Validate] returned
	// them. They may hold passwords and tokens, so String, GoString, LogValue
	// and encoding/json leave their values out.
	Settings map[string]string `json:"-"`
	// Sources names, by setting, where a value came from that must not be
	// printed although the setting is not secret by its kind: "$NAME" for an
	// environment variable, "file PATH" for a file. Package declare sets and
	// exports it; nil if all values were given as they are.
	Sources map[string]string
	// CreatedAt is when the channel was made, in UTC.
	CreatedAt time.Time
	// FailedAt is when an alert to the channel was last given up, in UTC; the
	// zero time if none was since one last arrived. Error says why, in at most
	// 500 characters.
	FailedAt time.Time
	Error    string
}

// LogValue describes the channel for a log: its identifiers, name and kind, and
// the names of its settings. It never shows the value of a setting.
func (c Channel) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("id", c.ID.String()),
		slog.String("project_id", c.ProjectID.String()),
		slog.String("name", c.Name),
		slog.String("kind", string(c.Kind)),
		slog.String("settings", c.settingNames()),
	)
}

// String describes the channel in the way of [Channel.LogValue], so that a
// channel printed with package fmt shows no secret either.
func (c Channel) String() string {
	return fmt.Sprintf("%s channel %s %q (settings: %s)", c.Kind, c.ID, c.Name, c.settingNames())
}

// GoString returns the text of [Channel.String], for the verb %#v.
func (c Channel) GoString() string { return c.String() }

// settingNames lists the names of the settings in alphabetical order.
func (c Channel) settingNames() string {
	return strings.Join(slices.Sorted(maps.Keys(c.Settings)), ",")
}
