package server

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/server/internal/request"
)

// listStatusPages answers GET /api/v3/status-pages/.
func (c *call) listStatusPages() error {
	list, err := c.mon.Project(c.key.ProjectID).StatusPages(c.r.Context())
	if err != nil {
		return err
	}
	document := wire.StatusPages{StatusPages: make([]wire.StatusPage, len(list))}
	for i, page := range list {
		document.StatusPages[i] = c.statusPageDocument(page)
	}
	return c.answer(http.StatusOK, document)
}

// getStatusPage answers GET /api/v3/status-pages/<id>.
func (c *call) getStatusPage() error {
	return c.answer(http.StatusOK, c.statusPageDocument(c.statusPage))
}

// createStatusPage answers POST /api/v3/status-pages/.
func (c *call) createStatusPage() error {
	wanted, err := c.wantedStatusPage()
	if err != nil {
		return err
	}
	page, err := c.mon.Project(c.key.ProjectID).CreateStatusPage(c.r.Context(), wanted)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, c.statusPageDocument(page))
}

// replaceStatusPage answers PUT /api/v3/status-pages/<id>.
func (c *call) replaceStatusPage() error {
	wanted, err := c.wantedStatusPage()
	if err != nil {
		return err
	}
	wanted.ID = c.statusPage.ID
	page, err := c.mon.Project(c.key.ProjectID).UpdateStatusPage(c.r.Context(), wanted)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, c.statusPageDocument(page))
}

// deleteStatusPage answers DELETE /api/v3/status-pages/<id>.
func (c *call) deleteStatusPage() error {
	if err := c.mon.Project(c.key.ProjectID).DeleteStatusPage(c.r.Context(), c.statusPage.ID); err != nil {
		return err
	}
	return c.answer(http.StatusOK, c.statusPageDocument(c.statusPage))
}

// wantedStatusPage returns the page that the body of a request describes.
func (c *call) wantedStatusPage() (checks.StatusPage, error) {
	wanted, err := requested(c, request.Body.StatusPage)
	if err != nil {
		return checks.StatusPage{}, err
	}
	named := slices.Sorted(maps.Keys(wanted.ByName))
	ids, err := c.namedChecks("names", named)
	wanted.Names = make(map[uuid.UUID]string, len(ids))
	for i, id := range ids {
		if _, twice := wanted.Names[id]; twice {
			return checks.StatusPage{}, &checks.FieldError{Field: "names", Reason: fmt.Sprintf("has a check twice: %q", cut(named[i]))}
		}
		wanted.Names[id] = wanted.ByName[named[i]]
	}
	return wanted.StatusPage, err
}

func (c *call) statusPageDocument(p checks.StatusPage) wire.StatusPage {
	return wire.StatusPage{
		ID: p.ID.String(), Slug: p.Slug, Title: p.Title, Description: p.Description, Tags: strings.Join(p.Tags, " "),
		Names: wire.PublicNames(p.Names), MinOutage: int64(p.MinOutage / time.Second), URL: c.base.Text + "/status/" + p.Slug,
	}
}
