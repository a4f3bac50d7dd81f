package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// probeTimeout bounds the test query of the database.
const probeTimeout = 5 * time.Second

// listChannels answers server/API.md section 4.11.
func (c *call) listChannels() error {
	list, err := c.mon.Project(c.key.ProjectID).Channels(c.r.Context())
	if err != nil {
		return err
	}
	document := wire.Channels{Channels: make([]wire.Channel, 0, len(list))}
	for _, channel := range list {
		document.Channels = append(document.Channels,
			wire.Channel{ID: channel.ID.String(), Name: channel.Name, Kind: string(channel.Kind)})
	}
	return c.answer(http.StatusOK, document)
}

// listBadges answers server/API.md section 4.12.
func (c *call) listBadges() error {
	project, err := c.mon.Projects().ByID(c.r.Context(), c.key.ProjectID)
	if err != nil {
		return err
	}
	tags, err := c.mon.Project(c.key.ProjectID).Tags(c.r.Context())
	if err != nil {
		return err
	}
	signer, err := c.badgeSigner(c.r.Context())
	if err != nil {
		return err
	}
	document := wire.Badges{Badges: make(map[string]wire.BadgeSet, len(tags)+1)}
	for _, tag := range append(tags, badges.AllTags) {
		address := func(format badges.Format, late bool) string {
			return c.base.Text + signer.Path(project.BadgeKey, tag, format, late)
		}
		document.Badges[tag] = wire.BadgeSet{
			SVG: address(badges.SVG, false), SVG3: address(badges.SVG, true),
			JSON: address(badges.JSON, false), JSON3: address(badges.JSON, true),
			Shields: address(badges.Shields, false), Shields3: address(badges.Shields, true),
		}
	}
	return c.answer(http.StatusOK, document)
}

// status answers server/API.md section 4.13.
func (c *call) status() error {
	ctx, cancel := context.WithTimeout(c.r.Context(), probeTimeout)
	defer cancel()
	if err := c.mon.Probe(ctx); err != nil {
		return fmt.Errorf("%w: %w", errProbe, err)
	}
	return c.answer(http.StatusOK, wire.Status{Status: "ok"})
}
