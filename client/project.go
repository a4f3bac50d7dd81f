package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/client/wire"
)

const (
	channelsPath   = "/api/v3/channels/"
	pagesPath      = "/api/v3/status-pages/"
	escalationPath = "/api/v3/escalation/"
)

// Channels returns the channels of the project, oldest first. Of each, the server tells only the ID, the name and the kind.
// [Client.ChannelsWithSettings] has the settings.
func (c *Client) Channels(ctx context.Context) ([]channels.Channel, error) {
	return get(ctx, c, "list channels", channelsPath, func(d wire.Channels) ([]channels.Channel, error) {
		return each("channels", d.Channels, channelOf)
	})
}

// ChannelsWithSettings returns the channels of the project as [Client.Channel] does, oldest first. It makes a request for each. The key must
// have the scope admin.
func (c *Client) ChannelsWithSettings(ctx context.Context) ([]channels.Channel, error) {
	list, err := c.Channels(ctx)
	if err != nil {
		return nil, err
	}
	known := list[:0]
	for _, short := range list {
		channel, err := c.Channel(ctx, short.ID)
		if errors.Is(err, checks.ErrNotFound) { // deleted a moment ago
			continue
		} else if err != nil {
			return nil, err
		}
		known = append(known, channel)
	}
	return known, nil
}

func channelOf(d wire.Channel) (channels.Channel, error) {
	id, err := idOf("channel", d.ID)
	return channels.Channel{ID: id, Name: d.Name, Kind: channels.Kind(d.Kind)}, err
}

// idOf parses the identifier of an object in a response.
func idOf(what, text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, fmt.Errorf("the id of a %s in the response is not a UUID: %q", what, text)
	}
	return id, nil
}

// Channel returns a channel of the project with its settings. Secret settings and those with a source are in Hidden
// instead. The key must have the scope admin. The error is [checks.ErrNotFound] if the channel does not exist.
func (c *Client) Channel(ctx context.Context, id uuid.UUID) (channels.Channel, error) {
	return get(ctx, c, "get channel "+id.String(), channelsPath+id.String(), detailOf)
}

func detailOf(d wire.ChannelDetail) (channels.Channel, error) {
	c, err := channelOf(wire.Channel{ID: d.ID, Name: d.Name, Kind: d.Kind})
	if err == nil && d.Settings == nil {
		err = errMissing("settings")
	}
	c.Settings, c.Sources, c.Hidden = d.Settings, d.Sources, d.Secrets
	c.FailedAt, c.Error = timeOf(d.FailedAt), d.Error
	return c, err
}

// CreateChannel adds a channel with the kind, name, settings and sources of channel. The key must have the scope admin. The
// error is a *[channels.SettingError] for a setting that the server refuses, a *[checks.FieldError] for the name, a
// *[checks.FieldError] for "kind" that wraps a *[channels.KindError], a *[channels.NotConfiguredError] for a kind that the server
// cannot deliver to, and [ErrUnauthorized] for a kind that needs a key of the installation. The ID must be zero, as that of
// [Client.Create]. If no response arrives, the server may
// still have created the channel; [Client.UpsertChannel] can be repeated.
func (c *Client) CreateChannel(ctx context.Context, channel channels.Channel) (channels.Channel, error) {
	name := "create channel " + strconv.Quote(channel.Name)
	if channel.ID != uuid.Nil {
		_, err := c.Channel(ctx, channel.ID)
		return channels.Channel{}, fmt.Errorf("client: %s: %w", name, idRefused("id", channel.ID, err))
	}
	created, _, err := c.saveChannel(ctx, name, http.MethodPost, channelsPath, channel, nil)
	return created, err
}

// UpsertChannel makes sure that the project has a channel with the name, kind, settings and sources of channel: it creates
// the channel, or replaces the settings and sources of the one with this name. The errors are those of
// [Client.CreateChannel], and a *[checks.FieldError] for an empty name, a name that several channels have, and a channel
// of another kind. If a retry finds the channel that an earlier try created, created is false.
func (c *Client) UpsertChannel(ctx context.Context, channel channels.Channel) (_ channels.Channel, created bool, err error) {
	saved, status, err := c.saveChannel(ctx, "upsert channel "+strconv.Quote(channel.Name), http.MethodPost, channelsPath, channel, []string{"name"})
	return saved, status == http.StatusCreated, err
}

// UpdateChannel replaces the name, the settings and their sources of a channel by those that edit returns. Edit gets the
// channel as [Client.Channel] returns it. A setting that is in Hidden and not in Settings keeps its value and its source; ""
// removes it. The server refuses to keep a secret if another change could send it elsewhere. Two requests do this, so a change that
// someone else makes between them is lost. The errors are those of edit, those of [Client.CreateChannel] and
// [checks.ErrNotFound].
func (c *Client) UpdateChannel(ctx context.Context, id uuid.UUID, edit func(channels.Channel) (channels.Channel, error)) (channels.Channel, error) {
	stored, err := c.Channel(ctx, id)
	if err != nil {
		return channels.Channel{}, err
	}
	changed, err := edit(stored)
	if err != nil {
		return channels.Channel{}, err
	}
	changed.Kind, changed.Sources = stored.Kind, maps.Clone(changed.Sources)
	maps.DeleteFunc(changed.Sources, func(name, _ string) bool { return changed.Settings[name] == "" }) // or those that stay
	saved, _, err := c.saveChannel(ctx, "update channel "+id.String(), http.MethodPut, channelsPath+id.String(), changed, nil)
	return saved, err
}

func (c *Client) saveChannel(ctx context.Context, name, method, path string, channel channels.Channel, unique []string) (channels.Channel, int, error) {
	document := wire.ChannelRequest{
		Kind: string(channel.Kind), Name: channel.Name, Settings: channel.Settings, Sources: channel.Sources, Unique: unique,
	}
	if document.Settings == nil {
		document.Settings = map[string]string{}
	}
	return do(ctx, c, call{
		name: name, method: method, path: path, body: document, idempotent: method == http.MethodPut || unique != nil, kind: channel.Kind,
	}, detailOf)
}

// DeleteChannel deletes a channel and takes it from all checks. The key must have the scope admin. The error is
// [checks.ErrNotFound] if the channel does not exist.
func (c *Client) DeleteChannel(ctx context.Context, id uuid.UUID) error {
	_, _, err := do(ctx, c, call{name: "delete channel " + id.String(), method: http.MethodDelete, path: channelsPath + id.String()}, detailOf)
	return err
}

// ChannelKinds returns the kinds of channels that the server knows, with their settings. Any key may ask.
func (c *Client) ChannelKinds(ctx context.Context) ([]wire.ChannelKind, error) {
	return get(ctx, c, "list channel kinds", "/api/v3/channel-kinds/", func(d wire.ChannelKinds) ([]wire.ChannelKind, error) {
		return each("kinds", d.Kinds, func(k wire.ChannelKind) (wire.ChannelKind, error) { return k, nil })
	})
}

// StatusPages returns the status pages of the project, oldest first. The address of one is the base URL of the server,
// "/status/" and the slug. The key must have the scope admin.
func (c *Client) StatusPages(ctx context.Context) ([]checks.StatusPage, error) {
	return get(ctx, c, "list status pages", pagesPath, func(d wire.StatusPages) ([]checks.StatusPage, error) {
		return each("status_pages", d.StatusPages, pageOf)
	})
}

func pageOf(d wire.StatusPage) (checks.StatusPage, error) {
	id, err := idOf("status page", d.ID)
	p := checks.StatusPage{
		ID: id, Slug: d.Slug, Title: d.Title, Description: d.Description, Tags: strings.Fields(d.Tags), MinOutage: time.Duration(d.MinOutage) * time.Second,
	}
	for text, name := range d.Names {
		check, wrong := idOf("check", text)
		if p.Names == nil {
			p.Names = make(map[uuid.UUID]string, len(d.Names))
		}
		p.Names[check], err = name, cmp.Or(err, wrong)
	}
	return p, err
}

// CreateStatusPage adds a status page as page says; the server sets its ID. From then on anyone can read it without a key. The key must
// have the scope admin. The error is a *[checks.FieldError] for a value that the server refuses, and [checks.ErrExists] for a slug in use
// in any project.
func (c *Client) CreateStatusPage(ctx context.Context, page checks.StatusPage) (checks.StatusPage, error) {
	return c.savePage(ctx, call{name: "create status page " + strconv.Quote(page.Slug), method: http.MethodPost, path: pagesPath}, page)
}

// UpdateStatusPage replaces what the page with the ID of page says. The errors are those of
// [Client.CreateStatusPage] and [checks.ErrNotFound].
func (c *Client) UpdateStatusPage(ctx context.Context, page checks.StatusPage) (checks.StatusPage, error) {
	id := page.ID.String()
	return c.savePage(ctx, call{name: "update status page " + id, method: http.MethodPut, path: pagesPath + id, idempotent: true}, page)
}

func (c *Client) savePage(ctx context.Context, k call, page checks.StatusPage) (checks.StatusPage, error) {
	if page.MinOutage%time.Second != 0 {
		return checks.StatusPage{}, &checks.FieldError{Field: "min_outage", Reason: fmt.Sprintf("is not a whole number of seconds: %v", page.MinOutage)}
	}
	k.body = wire.StatusPageRequest{
		Slug: page.Slug, Title: page.Title, Description: page.Description, Tags: strings.Join(page.Tags, " "),
		Names: wire.PublicNames(page.Names), MinOutage: int64(page.MinOutage / time.Second),
	}
	k.causes = exists
	saved, _, err := do(ctx, c, k, pageOf)
	return saved, err
}

// exists is the cause of a conflict with something that exists.
var exists = map[int]error{http.StatusConflict: checks.ErrExists}

// DeleteStatusPage deletes a status page. The key must have the scope admin. The error is [checks.ErrNotFound] if the page
// does not exist.
func (c *Client) DeleteStatusPage(ctx context.Context, id uuid.UUID) error {
	_, _, err := do(ctx, c, call{name: "delete status page " + id.String(), method: http.MethodDelete, path: pagesPath + id.String()}, pageOf)
	return err
}

// Escalation returns the steps of the project's escalation policy, or none. The key must be able to change checks.
func (c *Client) Escalation(ctx context.Context) ([]gate.Step, error) {
	return get(ctx, c, "get escalation policy", escalationPath, stepsOf)
}

// SetEscalation replaces the escalation policy of the project; no steps remove it. It holds for every check, and
// for outages that are going on: an integration that it names is notified of them at its step. The key must have the scope admin. The error is a *[checks.FieldError] for "steps"; see
// [checks.ValidateSteps].
func (c *Client) SetEscalation(ctx context.Context, steps []gate.Step) error {
	k := call{name: "set escalation policy", method: http.MethodPut, path: escalationPath, body: wire.NewEscalation(steps), idempotent: true}
	_, _, err := do(ctx, c, k, stepsOf)
	return err
}

func stepsOf(d wire.Escalation) ([]gate.Step, error) {
	return each("steps", d.Steps, wire.EscalationStep.Step)
}

// Badges returns the badge URLs of the project by tag. The tag "*" stands for all checks.
func (c *Client) Badges(ctx context.Context) (map[string]wire.BadgeSet, error) {
	return get(ctx, c, "list badges", "/api/v3/badges/", func(d wire.Badges) (map[string]wire.BadgeSet, error) {
		if d.Badges == nil {
			return nil, errMissing("badges")
		}
		return d.Badges, nil
	})
}
