package server

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/server/internal/request"
)

// listChecks answers server/API.md section 4.1. An empty filter matches all checks.
func (c *call) listChecks() error {
	params := c.r.URL.Query()
	query := checks.Query{Slug: params.Get("slug")}
	for _, tag := range params["tag"] {
		if tag != "" {
			query.Tags = append(query.Tags, tag)
		}
	}
	return answerList(c, "checks", c.mon.Project(c.key.ProjectID).EachCheck(c.r.Context(), query), c.document)
}

// getCheck answers server/API.md section 4.2.
func (c *call) getCheck() error {
	return c.answer(http.StatusOK, c.document(c.check.Snapshot(c.mon.Now())))
}

// createCheck answers server/API.md section 4.3.
func (c *call) createCheck() error {
	body, err := c.parseBody()
	if err != nil {
		return err
	}
	request, err := body.Create()
	if err != nil {
		return err
	}
	spec, err := c.settings(request.Spec, body, checks.Check{})
	if err != nil {
		return err
	}
	check, created, err := c.mon.Project(c.key.ProjectID).UpsertBare(c.r.Context(), spec, c.unique(request)...)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if !created {
		status = http.StatusOK
		if check, err = c.refit(check, request.Spec, body); err != nil {
			return err
		}
	}
	if err := c.warnOfParents(spec, check); err != nil {
		return err
	}
	return c.answerChanged(status, check)
}

// updateCheck answers server/API.md section 4.4.
func (c *call) updateCheck() error {
	body, err := c.parseBody()
	if err != nil {
		return err
	}
	request, err := body.Update()
	if err != nil {
		return err
	}
	spec, err := c.settings(request, body, c.check)
	if err != nil {
		return err
	}
	check, err := c.mon.Project(c.check.ProjectID).Update(c.r.Context(), c.check.ID, spec)
	if err != nil {
		return err
	}
	if err := c.warnOfParents(spec, check); err != nil {
		return err
	}
	return c.answerChanged(http.StatusOK, check)
}

// warnOfParents warns of parents that hold no alert back, if a request sets what a check follows.
func (c *call) warnOfParents(spec checks.Spec, check checks.Snapshot) error {
	if spec.After == nil {
		return nil
	}
	warnings, err := c.mon.Project(c.key.ProjectID).FollowWarnings(c.r.Context(), *check.Check)
	c.warn(warnings...)
	return err
}

// pauseCheck answers server/API.md section 4.5.
func (c *call) pauseCheck() error {
	check, err := c.mon.Project(c.check.ProjectID).Pause(c.r.Context(), c.check.ID)
	if err != nil {
		return err
	}
	return c.answerChanged(http.StatusOK, check)
}

// resumeCheck answers server/API.md section 4.6.
func (c *call) resumeCheck() error {
	check, err := c.mon.Project(c.check.ProjectID).Resume(c.r.Context(), c.check.ID)
	if err != nil {
		return err
	}
	return c.answerChanged(http.StatusOK, check)
}

// deleteCheck answers server/API.md section 4.7.
func (c *call) deleteCheck() error {
	check, err := c.mon.Project(c.check.ProjectID).Delete(c.r.Context(), c.check.ID)
	if err != nil {
		return err
	}
	return c.answerChanged(http.StatusOK, check)
}

// acknowledgeCheck acknowledges an outage. Somebody who is signed in does so in their own name.
func (c *call) acknowledgeCheck() error {
	spec, err := requested(c, request.Body.Ack)
	if err != nil {
		return err
	}
	if c.signed {
		spec.By = ""
	}
	check, err := c.mon.Project(c.check.ProjectID).Acknowledge(c.r.Context(), c.check.ID, spec)
	if err != nil {
		return err
	}
	return c.answerChanged(http.StatusOK, check)
}

// acknowledgeMany acknowledges the outages that a request selects.
func (c *call) acknowledgeMany() error {
	wanted, err := requested(c, request.Body.AckMany)
	if err != nil {
		return err
	}
	if c.signed {
		wanted.By = ""
	}
	report, err := c.mon.Project(c.key.ProjectID).AcknowledgeMany(c.r.Context(), wanted.AckQuery, wanted.AckSpec)
	if err != nil {
		return err
	}
	documents := func(list []checks.Snapshot) []wire.Check {
		rendered := make([]wire.Check, len(list))
		for i, check := range list {
			rendered[i] = *c.inCurrent(check)
		}
		return rendered
	}
	return c.answer(http.StatusOK, wire.AckReport{Acknowledged: documents(report.Acknowledged), Taken: documents(report.Taken)})
}

// unacknowledgeCheck gives an outage back.
func (c *call) unacknowledgeCheck() error {
	check, err := c.mon.Project(c.check.ProjectID).Unacknowledge(c.r.Context(), c.check.ID)
	if err != nil {
		return err
	}
	return c.answerChanged(http.StatusOK, check)
}

// answerChanged answers create, update, pause, resume and delete, which add subject and subject_fail.
func (c *call) answerChanged(status int, changed checks.Snapshot) error {
	document := c.inCurrent(changed)
	document.Subject, document.SubjectFail = new(string), new(string)
	return c.answer(status, c.inVersion(document, changed))
}

// document renders a check in the version and for the key of the request (server/API.md section 2.1).
func (c *call) document(check checks.Snapshot) any { return c.inVersion(c.inCurrent(check), check) }

// inCurrent renders a check in the current version.
func (c *call) inCurrent(check checks.Snapshot) *wire.Check {
	d := &wire.Check{
		NPings: check.NPings, Status: string(check.Status),
		Started:  c.reportStarted && check.Started,
		LastPing: wire.NewTime(check.LastPing), NextPing: wire.NewTime(check.NextPing),
		BadgeURL: c.base.Text + badges.CheckPath(check.Check.BadgeKey.String(), badges.SVG, false),
	}
	d.SetSettings(check.Settings)
	if a := check.Ack; a.By != "" {
		d.Acknowledged = &wire.Ack{By: a.By, At: wire.NewTime(a.At), Until: wire.NewTime(a.Until), Note: a.Note}
	}
	if !c.right.Edits() && !c.key.Scope.SeesIDs() {
		if d.UniqueKey, d.After = check.UniqueKey, check.PublicAfter(); d.Acknowledged != nil {
			d.Acknowledged.By = ""
		}
		return d
	}
	d.UUID = check.ID.String()
	d.PingURL = c.ping.Text + "/" + d.UUID
	d.UpdateURL = c.checkURL(check.ID)
	d.PauseURL = d.UpdateURL + "/pause"
	d.ResumeURL = d.UpdateURL + "/resume"
	ids := make([]string, len(check.Channels))
	for i, id := range check.Channels {
		ids[i] = id.String()
	}
	d.Channels = new(strings.Join(ids, ","))
	return d
}

func (c *call) checkURL(id uuid.UUID) string {
	return c.base.Text + roots[c.version] + "/checks/" + id.String()
}
