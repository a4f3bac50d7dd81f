package server

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/server/internal/request"
)

// createChannel answers POST /api/v3/channels/.
func (c *call) createChannel() error {
	wanted, err := requested(c, request.Body.Channel)
	if err != nil {
		return err
	}
	if wanted.Kind == nil {
		return &checks.FieldError{Field: "kind", Reason: "is missing"}
	}
	channel := channels.Channel{Kind: channels.Kind(*wanted.Kind), Settings: wanted.Settings, Sources: wanted.Sources}
	if wanted.Name != nil {
		channel.Name = *wanted.Name
	}
	info, _ := c.mon.Kind(channel.Kind)
	if !c.mayChange(info) {
		return errKind(channel.Kind)
	}
	status, created := http.StatusCreated, true
	if len(wanted.Unique) == 0 {
		channel, err = c.mon.Project(c.key.ProjectID).CreateChannel(c.r.Context(), channel)
	} else if channel, created, err = c.mon.Project(c.key.ProjectID).UpsertChannel(c.r.Context(), channel); !created {
		status = http.StatusOK
	}
	if err != nil {
		return redacted(err, info, wanted.Settings)
	}
	c.warnOf(info, channel)
	return c.answerChannel(status, channel)
}

// getChannel answers GET /api/v3/channels/<id>.
func (c *call) getChannel() error {
	return c.answerChannel(http.StatusOK, c.channel)
}

// replaceChannel answers PUT /api/v3/channels/<id>.
func (c *call) replaceChannel() error {
	wanted, err := requested(c, request.Body.Channel)
	if err != nil {
		return err
	}
	kind := c.channel.Kind
	info, known := c.mon.Kind(kind)
	switch {
	case wanted.Kind != nil && *wanted.Kind != string(kind):
		return &checks.FieldError{Field: "kind", Reason: fmt.Sprintf("cannot change: it is %q", kind)}
	case wanted.Name == nil:
		return &checks.FieldError{Field: "name", Reason: "is missing"}
	case wanted.Settings == nil:
		return &checks.FieldError{Field: "settings", Reason: "is missing"}
	case !known:
		return &checks.FieldError{Field: "kind", Reason: fmt.Sprintf("is unknown to this server: %q", kind)}
	case !c.mayChange(info):
		return errKind(kind)
	}
	edit := func(stored channels.Channel) (channels.Channel, error) {
		settings, err := info.Merge(stored, wanted.Settings, func(name string) bool { _, given := wanted.Settings[name]; return given })
		sources := map[string]string{}
		maps.Copy(sources, wanted.Sources)
		for name, source := range stored.Sources {
			if _, given := wanted.Settings[name]; !given {
				sources[name] = source
			}
		}
		stored.Name, stored.Settings, stored.Sources = *wanted.Name, settings, sources
		return stored, err
	}
	channel, err := c.mon.Project(c.key.ProjectID).UpdateChannel(c.r.Context(), c.channel.ID, edit)
	if err != nil {
		return redacted(err, info, wanted.Settings, c.channel.Settings)
	}
	c.warnOf(info, channel)
	return c.answerChannel(http.StatusOK, channel)
}

// warnOf warns of what is likely to go wrong with an integration.
func (c *call) warnOf(info channels.Type, channel channels.Channel) {
	if info.Warn == nil {
		return
	}
	if w := info.Warn(channel.Settings); w != nil {
		c.warn(w.Setting + ": " + w.Reason)
	}
}

// warn adds headers Warning (RFC 7234, section 5.5): the server does what it was asked to do, but that is likely not what was meant.
func (c *call) warn(list ...string) {
	for _, text := range list {
		c.w.Header().Add("Warning", "299 - "+strconv.QuoteToASCII(text))
	}
}

// deleteChannel answers DELETE /api/v3/channels/<id>.
func (c *call) deleteChannel() error {
	if err := c.mon.Project(c.key.ProjectID).DeleteChannel(c.r.Context(), c.channel.ID); err != nil {
		return err
	}
	return c.answerChannel(http.StatusOK, c.channel)
}

// listKinds answers GET /api/v3/channel-kinds/.
func (c *call) listKinds() error {
	document := wire.ChannelKinds{Kinds: []wire.ChannelKind{}}
	for _, info := range c.mon.Kinds() {
		kind := wire.ChannelKind{
			Kind: string(info.Kind), Title: cmp.Or(info.Title, string(info.Kind)), Category: string(cmp.Or(info.Category, "Others")), Doc: info.Doc, Setup: info.Setup,
			Configured: c.mon.Configured(info.Kind) == nil, Privileged: c.privileged(info), Settings: []wire.ChannelSetting{},
		}
		for _, s := range info.AllSettings() {
			kind.NeedsBrowser = kind.NeedsBrowser || s.Subscription && s.Required
			kind.Settings = append(kind.Settings, wire.ChannelSetting{
				Name: s.Name, Doc: s.Doc, Required: s.Required, Primary: s.Primary, Secret: s.Secret, Default: s.Default, Options: append([]string{}, s.Options...),
				KeepsSecrets: s.KeepsSecrets, Lines: s.Lines, NeedsBrowser: s.Subscription,
			})
		}
		document.Kinds = append(document.Kinds, kind)
	}
	return c.answer(http.StatusOK, document)
}

// privileged reports whether only a key of the installation creates and changes channels of a kind.
func (s *Server) privileged(info channels.Type) bool {
	return info.Privileged || s.channelKinds != nil && !slices.Contains(s.channelKinds, info.Kind)
}

// mayChange reports whether the key may create and change channels of a kind. It leaves unknown kinds to the monitor.
func (c *call) mayChange(info channels.Type) bool {
	return c.installation || info.Kind == "" || !c.privileged(info)
}

// errKind refuses a kind that needs a key of the installation.
func errKind(kind channels.Kind) error {
	return &problem{status: http.StatusForbidden, text: fmt.Sprintf("channels of the kind %q need an api key of the installation", kind)}
}

// answerChannel answers with a channel.
func (c *call) answerChannel(status int, channel channels.Channel) error {
	list, err := c.mon.Project(c.key.ProjectID).Channels(c.r.Context())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(other channels.Channel) bool { return other.ID == channel.ID }) {
		list = append(list, channel) // it was deleted
	}
	reach, err := c.mon.Project(c.key.ProjectID).Reach(c.r.Context(), list, false)
	if err != nil {
		return err
	}
	return c.answer(status, c.channelDocument(channel, reach[channel.ID]))
}

// channelDocument renders a channel.
func (c *call) channelDocument(channel channels.Channel, reach verdict.Reach) wire.ChannelDetail {
	d := wire.ChannelDetail{
		ID: channel.ID.String(), Name: channel.Name, Kind: string(channel.Kind), Settings: map[string]string{}, Secrets: []string{},
		Sources: channel.Sources, State: reach.State, FailedAt: wire.NewTime(reach.Since), Error: reach.Error,
	}
	info, _ := c.mon.Kind(channel.Kind)
	for _, name := range slices.Sorted(maps.Keys(channel.Settings)) {
		if info.Shows(channel, name) {
			d.Settings[name] = channel.Settings[name]
		} else {
			d.Secrets = append(d.Secrets, name)
		}
	}
	return d
}

// redacted returns an error about settings without the secrets among them, which the notifier of a kind may have quoted.
func redacted(err error, info channels.Type, settings ...map[string]string) error {
	refused, ok := errors.AsType[*channels.SettingError](err)
	if !ok {
		return err
	}
	var secrets []string
	for _, s := range info.AllSettings() {
		for _, values := range settings {
			if s.Secret {
				secrets = append(secrets, values[s.Name])
			}
		}
	}
	return &channels.SettingError{Kind: refused.Kind, Setting: refused.Setting, Reason: channels.Redact(refused.Reason, secrets...)}
}
