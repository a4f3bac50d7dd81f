package client

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// Channels returns the channels of the project, oldest first. Of each, the server tells only the ID, the name and the kind.
func (c *Client) Channels(ctx context.Context) ([]channels.Channel, error) {
	return get(ctx, c, "list channels", "/api/v3/channels/", func(d wire.Channels) ([]channels.Channel, error) {
		return each("channels", d.Channels, channelOf)
	})
}

func channelOf(d wire.Channel) (channels.Channel, error) {
	id, err := uuid.Parse(d.ID)
	if err != nil {
		return channels.Channel{}, fmt.Errorf("the id of a channel in the response is not a UUID: %q", d.ID)
	}
	return channels.Channel{ID: id, Name: d.Name, Kind: channels.Kind(d.Kind)}, nil
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
