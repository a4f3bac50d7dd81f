package server

import (
	"net/http"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/server/internal/request"
)

// getEscalation answers GET /api/v3/escalation/.
func (c *call) getEscalation() error {
	steps, err := c.mon.Project(c.key.ProjectID).Escalation(c.r.Context())
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, wire.NewEscalation(steps))
}

// setEscalation answers PUT /api/v3/escalation/.
func (c *call) setEscalation() error {
	wanted, err := requested(c, request.Body.Escalation)
	if err != nil {
		return err
	}
	project := c.mon.Project(c.key.ProjectID)
	available, err := project.Channels(c.r.Context())
	if err != nil {
		return err
	}
	steps, err := checks.FindSteps(wanted, available)
	if err != nil {
		return err
	}
	if err := project.SetEscalation(c.r.Context(), steps); err != nil {
		return err
	}
	return c.getEscalation()
}
