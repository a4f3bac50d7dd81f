package monitor

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	// hidden stands for a secret in the audit log.
	hidden = "(secret)"
	// maxValue bounds the values in the audit log, in bytes.
	maxValue = 1000
)

// means says what else changes with the thing that an entry of the audit log is about: by the whole action, or else by its part before
// the point. What is not here changes everything. Of checks, SaveChecks knows more.
var means = map[string]store.Change{
	"channel":        {Kinds: checks.ChangedChannels, Releases: true},
	"channel.delete": {Kinds: checks.ChangedChannels | checks.ChangedSettings | checks.ChangedDeliveries, AllChecks: true, Releases: true},
	"check":          {},
	"escalation":     {Kinds: checks.ChangedProject | checks.ChangedDeliveries, AllChecks: true, Releases: true},
	"key":            {Kinds: checks.ChangedProject},
	"maintenance":    {Kinds: checks.ChangedProject, AllChecks: true, Releases: true},
	"project":        {Kinds: checks.ChangedProject, Releases: true},
	"project.create": {Kinds: checks.ChangedProject},
	"project.delete": {Kinds: checks.ChangedAnything, AllChecks: true},
	"snooze":         {Kinds: checks.ChangedProject, AllChecks: true, Releases: true},
	"status_page":    {Kinds: checks.ChangedStatusPages},
}

// note says what a transaction changes, and returns what makes the change. The audit log has no entry of an update of nothing.
func (s *service) note(ctx context.Context, tx store.AdminTx, entries ...audit.Entry) (store.Writer, error) {
	list := make([]store.Change, len(entries))
	for i, e := range entries {
		thing, verb, _ := strings.Cut(e.Action, ".")
		c, found := means[e.Action]
		if !found {
			c, found = means[thing]
		}
		if !found {
			c = store.Change{Kinds: checks.ChangedAnything, AllChecks: true, Releases: true}
		}
		if c.Entry = e; s.config.AuditRetention > 0 && !(verb == "update" && len(e.Changes) == 0) {
			c.At, c.Actor = s.now(), audit.ActorOf(ctx)
		}
		if c.ProjectID == uuid.Nil { // the installation, which has no feed
			c.Kinds, c.Releases = 0, false
		}
		list[i] = c
	}
	return tx.Change(ctx, list...)
}

// aboutCheck returns an entry about a check.
func aboutCheck(c checks.Check, action string, changes ...audit.Change) audit.Entry {
	return audit.Entry{ProjectID: c.ProjectID, CheckID: c.ID, Action: action, Object: c.DisplayName(), Changes: changes}
}

// add appends a change unless both values are equal.
func add(changes []audit.Change, field, from, to string) []audit.Change {
	if from == to {
		return changes
	}
	return append(changes, audit.Change{Field: field, From: cut(from), To: cut(to)})
}

// cut shortens a value to maxValue.
func cut(value string) string {
	if len(value) <= maxValue {
		return value
	}
	end := maxValue
	for !utf8.RuneStart(value[end]) {
		end--
	}
	return value[:end] + "…"
}

// checkChanges returns the settings in which two checks differ, with the names of their channels.
func (s *service) checkChanges(ctx context.Context, tx store.AdminTx, from, to checks.Check) (changes []audit.Change, err error) {
	if s.config.AuditRetention == 0 {
		return nil, nil
	}
	for _, s := range checks.AllSettings() {
		changes = add(changes, s.Name, valueText(s, from), valueText(s, to))
	}
	if slices.Equal(from.Channels, to.Channels) {
		return changes, nil
	}
	found, err := tx.Channels(ctx, store.ChannelFilter{ProjectID: &to.ProjectID})
	names := func(ids []uuid.UUID) string {
		var list []string
		for _, id := range ids {
			if c, ok := channelByID(found, id); ok {
				list = append(list, channelName(c))
			}
		}
		slices.Sort(list)
		return strings.Join(list, ", ")
	}
	return add(changes, "channels", names(from.Channels), names(to.Channels)), err
}

// valueText returns the setting of a check as text, "" for an optional period that is not set.
func valueText(s checks.Setting, c checks.Check) string {
	value := s.Of(c.Settings)
	if s.Name == "after" { // who may read the log may not know IDs
		value = c.PublicAfter()
	}
	if value == time.Duration(0) {
		return ""
	}
	return checks.ValueText(value)
}

// channelChanges returns what differs between two channels. Of a new channel, the first is the zero value.
func (s *service) channelChanges(from, to channels.Channel) []audit.Change {
	changes := add(nil, "name", from.Name, to.Name)
	kind := s.typeOf(to.Kind)
	shown := func(c channels.Channel, name string) string {
		if value := c.Settings[name]; value == "" || kind.Shows(c, name) {
			return value
		}
		return hidden
	}
	names := maps.Clone(from.Settings)
	if names == nil {
		names = make(map[string]string)
	}
	maps.Copy(names, to.Settings)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if from.Settings[name] != to.Settings[name] { // two secrets look alike
			changes = append(changes, audit.Change{Field: name, From: cut(shown(from, name)), To: cut(shown(to, name))})
		}
	}
	return changes
}

func aboutChannel(c channels.Channel, action string, changes ...audit.Change) audit.Entry {
	return audit.Entry{ProjectID: c.ProjectID, Action: action, Object: channelName(c), Changes: changes}
}

func channelName(c channels.Channel) string { return cmp.Or(c.Name, "unnamed "+string(c.Kind)) }

func aboutProject(p checks.Project, action string, changes ...audit.Change) audit.Entry {
	return audit.Entry{ProjectID: p.ID, Action: action, Object: p.Name, Changes: changes}
}

// aboutKey returns an entry about an API key, of which the hint is all that anybody may see.
func aboutKey(k checks.Key, action string, changes ...audit.Change) audit.Entry {
	return audit.Entry{ProjectID: k.ProjectID, Action: action, Object: k.Hint, Changes: changes}
}
