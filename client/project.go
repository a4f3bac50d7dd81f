package client

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// Channel is a channel of the project, an "integration" in server/API.md section 2.4.
type Channel struct {
	ID   uuid.UUID
	Name string
	Kind channels.Kind
}

// Channels returns the channels of the project (server/API.md section 4.11).
func (c *Client) Channels(ctx context.Context) ([]Channel, error) {
	return get(ctx, c, "list channels", "/api/v3/channels/", func(d wire.Channels) ([]Channel, error) {
		return each("channels", d.Channels, channelOf)
	})
}

func channelOf(d wire.Channel) (Channel, error) {
	id, err := uuid.Parse(d.ID)
	if err != nil {
		return Channel{}, fmt.Errorf("the id of a channel in the response is not a UUID: %q", d.ID)
	}
	return Channel{ID: id, Name: d.Name, Kind: channels.Kind(d.Kind)}, nil
}

// Badges returns the badge URLs of the project by tag (server/API.md section 4.12). The tag "*" stands for all checks.
func (c *Client) Badges(ctx context.Context) (map[string]wire.BadgeSet, error) {
	return get(ctx, c, "list badges", "/api/v3/badges/", func(d wire.Badges) (map[string]wire.BadgeSet, error) {
		if d.Badges == nil {
			return nil, errMissing("badges")
		}
		return d.Badges, nil
	})
}
