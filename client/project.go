package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// Channel is an integration of the project (API-V3.md section 2.4).
type Channel struct {
	ID   uuid.UUID
	Name string
	Kind channels.Kind
}

// Channels returns the integrations of the project (API-V3.md section 4.11).
func (c *Client) Channels(ctx context.Context) ([]Channel, error) {
	var document wire.Channels
	var list []Channel
	_, err := c.json(ctx, call{what: "list channels", method: http.MethodGet, path: "/api/v3/channels/", repeat: true}, &document, func() error {
		if document.Channels == nil {
			return errMissing("channels")
		}
		return translate(&list, document.Channels, channelOf)
	})
	return list, err
}

func channelOf(d wire.Channel) (Channel, error) {
	id, err := uuid.Parse(d.ID)
	if err != nil {
		return Channel{}, fmt.Errorf("the answer has an id that is no uuid: %q", d.ID)
	}
	return Channel{ID: id, Name: d.Name, Kind: channels.Kind(d.Kind)}, nil
}

// Badges returns the addresses of the badges of the project by tag; the tag "*" stands for all checks (API-V3.md
// section 4.12).
func (c *Client) Badges(ctx context.Context) (map[string]wire.BadgeSet, error) {
	var document wire.Badges
	_, err := c.json(ctx, call{what: "list badges", method: http.MethodGet, path: "/api/v3/badges/", repeat: true}, &document, func() error {
		if document.Badges == nil {
			return errMissing("badges")
		}
		return nil
	})
	return document.Badges, err
}
