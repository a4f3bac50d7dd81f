package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

func (d *Dashboard) integrationRoutes() {
	d.look("GET /projects/{project}/integrations", d.integrationsPage)
	d.change("GET /projects/{project}/integrations/new", d.newIntegrationPage)
	d.change("POST /projects/{project}/integrations/new", d.createIntegration)
	d.change("GET /projects/{project}/integrations/{channel}", d.integrationPage)
	d.change("POST /projects/{project}/integrations/{channel}", d.saveIntegration)
	d.change("POST /projects/{project}/integrations/{channel}/assign", d.assignIntegration)
	d.change("GET /projects/{project}/integrations/{channel}/delete", d.deleteIntegrationPage)
	d.change("POST /projects/{project}/integrations/{channel}/delete", d.deleteIntegration)
}

// integration is a channel as pages show it. It has no settings, which may be secret.
type integration struct {
	ID          uuid.UUID
	Name        string // never empty
	Kind, Title string
	// Checks counts the checks that alert it, also through groups, and Groups names the groups that it is in.
	Checks int
	Groups []string
	// Only is the only status that the channel gets alerts about, or "" for both.
	Only channels.Status
	// FailedAt and Error are those of [channels.Channel].
	FailedAt time.Time
	Error    string
	// Last is the newest delivery, or nil.
	Last *deliveryRow
	// Lacks says why this server cannot send alerts of the kind, or "".
	Lacks string
}

// integrationsPage lists the integrations of a project.
func (d *Dashboard) integrationsPage(q *request) error {
	list, err := q.integrations()
	if err != nil {
		return err
	}
	return q.render("integrations", "Integrations", struct {
		Rows []integration
		Make bool
	}{list, len(q.kindsToMake()) > 0})
}

// integrations returns all integrations of the project, oldest first.
func (q *request) integrations() ([]integration, error) {
	available, err := q.mon.Channels(q.ctx(), q.project.ID)
	if err != nil {
		return nil, err
	}
	list, err := q.mon.Checks(q.ctx(), q.project.ID, monitor.CheckQuery{})
	if err != nil {
		return nil, err
	}
	counts, groups := usage(available, list)
	rows := make([]integration, len(available))
	for i, c := range available {
		rows[i] = q.integrationOf(c)
		rows[i].Checks, rows[i].Groups = counts[c.ID], groups[c.ID]
		if rows[i].Last, err = q.lastDelivery(c.ID); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (q *request) integrationOf(c channels.Channel) integration {
	row := integration{ID: c.ID, Name: channelName(c), Kind: string(c.Kind), Title: string(c.Kind), FailedAt: c.FailedAt, Error: c.Error}
	if info, ok := q.kind(c.Kind); ok {
		row.Title = kindTitle(info)
	}
	switch down, up := c.Wants(channels.Down), c.Wants(channels.Up); {
	case down && !up:
		row.Only = channels.Down
	case up && !down:
		row.Only = channels.Up
	}
	if err := q.mon.Configured(c.Kind); err != nil {
		row.Lacks = lacks(err)
	}
	return row
}

// lacks says for people why a kind cannot be sent.
func lacks(err error) string {
	if _, none := errors.AsType[*monitor.NotConfiguredError](err); none {
		return "no sender is configured for this kind"
	}
	return err.Error()
}

// usage counts the checks that alert each channel, also through groups, and names the groups of each channel.
func usage(available []channels.Channel, list []checks.Check) (counts map[uuid.UUID]int, groups map[uuid.UUID][]string) {
	counts, groups = map[uuid.UUID]int{}, map[uuid.UUID][]string{}
	members := map[uuid.UUID][]uuid.UUID{}
	for _, c := range available {
		if c.Kind != channels.Group {
			continue
		}
		members[c.ID] = channels.GroupMembers(c)
		for _, id := range members[c.ID] {
			groups[id] = append(groups[id], channelName(c))
		}
	}
	for _, c := range list {
		alerted := map[uuid.UUID]bool{}
		for _, id := range c.Channels {
			alerted[id] = true
			for _, member := range members[id] {
				alerted[member] = true
			}
		}
		for id := range alerted {
			counts[id]++
		}
	}
	return counts, groups
}

func (q *request) lastDelivery(channel uuid.UUID) (*deliveryRow, error) {
	list, err := q.mon.Deliveries(q.ctx(), monitor.DeliveryQuery{Project: q.project.ID, Channel: channel, Limit: 1})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return new(deliveryRowOf(list[0], q.edit)), nil
}

// kind returns what the monitor knows about a kind. As in [channels.Validate], the last of several counts.
func (q *request) kind(kind channels.Kind) (info channels.KindInfo, ok bool) {
	for _, k := range q.mon.ChannelKinds() {
		if k.Kind == kind {
			info, ok = k, true
		}
	}
	return info, ok
}

// mayMake reports whether pages make and change channels of a kind. See [Config].Kinds.
func (d *Dashboard) mayMake(info channels.KindInfo) bool {
	if d.config.Kinds != nil {
		return slices.Contains(d.config.Kinds, info.Kind)
	}
	return !info.Privileged
}

// kindsToMake returns the kinds of which pages make channels, each once.
func (q *request) kindsToMake() (list []channels.KindInfo) {
	for i, k := range q.mon.ChannelKinds() {
		last, _ := q.kind(k.Kind)
		first := !slices.ContainsFunc(q.mon.ChannelKinds()[:i], func(other channels.KindInfo) bool { return other.Kind == k.Kind })
		if first && q.mayMake(last) {
			list = append(list, last)
		}
	}
	return list
}

func kindTitle(info channels.KindInfo) string {
	if info.Title != "" {
		return info.Title
	}
	return string(info.Kind)
}

// channel returns the channel that the path names.
func (q *request) channel() (channels.Channel, error) {
	list, err := q.mon.Channels(q.ctx(), q.project.ID)
	if err != nil {
		return channels.Channel{}, err
	}
	i := slices.IndexFunc(list, func(c channels.Channel) bool { return c.ID.String() == q.r.PathValue("channel") })
	if i < 0 {
		return channels.Channel{}, checks.ErrNotFound
	}
	return list[i], nil
}

// testTime bounds a test. The members of a group are tried one after the other.
const testTime = 45 * time.Second

// testResult is what came of a test alert.
type testResult struct {
	Sent bool
	Took time.Duration
	// Errors are the reasons of a failure: one, or one for each member of a group that failed.
	Errors []string
}

// In says how long the test took.
func (r *testResult) In() string {
	if r.Took < time.Second {
		return fmt.Sprintf("in %d ms", r.Took.Milliseconds())
	}
	return "in " + verdict.Duration(r.Took)
}

// testIntegration sends a test alert and answers with the page of the integration and the result.
func (d *Dashboard) testIntegration(q *request, c channels.Channel) error {
	view, err := q.formOf(c)
	if err != nil {
		return err
	}
	if d.busy.Wait(q.project.ID) > 0 {
		view.Problem = "Too many tests. Wait a few seconds, then try again."
		return q.showForm(http.StatusTooManyRequests, view)
	}
	ctx, cancel := context.WithTimeout(q.ctx(), testTime)
	defer cancel()
	began := time.Now()
	failure := q.mon.TestChannel(ctx, q.project.ID, c.ID)
	view.Test = &testResult{Sent: failure == nil, Took: time.Since(began)}
	if failure != nil {
		view.Test.Errors = strings.Split(failure.Error(), "\n")
	}
	return q.showForm(http.StatusOK, view)
}

// assignIntegration makes all checks of the project alert an integration.
func (d *Dashboard) assignIntegration(q *request) error {
	c, err := q.channel()
	if err != nil {
		return err
	}
	n, err := q.assignToAll(c.ID)
	if err != nil {
		return err
	}
	q.notice(fmt.Sprintf("Added %s to %s.", cutName(channelName(c)), verdict.Count(n, "check")))
	return q.redirect("/projects/%s/integrations/%s", q.project.ID, c.ID)
}

func (q *request) assignToAll(channel uuid.UUID) (n int, err error) {
	list, err := q.mon.Checks(q.ctx(), q.project.ID, monitor.CheckQuery{})
	if err != nil {
		return 0, err
	}
	for _, c := range list {
		if slices.Contains(c.Channels, channel) {
			continue
		}
		_, err := q.mon.UpdateFunc(q.ctx(), c.ID, func(now checks.Check) (checks.Spec, error) {
			var ids []string
			for _, id := range append(now.Channels, channel) {
				ids = append(ids, id.String())
			}
			return checks.Spec{Channels: new(strings.Join(ids, ","))}, nil
		})
		if errors.Is(err, checks.ErrNotFound) {
			continue
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// deleteIntegrationPage asks before an integration is deleted.
func (d *Dashboard) deleteIntegrationPage(q *request) error {
	c, err := q.channel()
	if err != nil {
		return err
	}
	view, err := q.formOf(c)
	if err != nil {
		return err
	}
	return q.render("integrationdelete", "Delete an integration", view)
}

func (d *Dashboard) deleteIntegration(q *request) error {
	c, err := q.channel()
	if err != nil {
		return err
	}
	if err := q.mon.DeleteChannel(q.ctx(), q.project.ID, c.ID); err != nil {
		return err
	}
	q.notice(fmt.Sprintf("Deleted %s.", cutName(channelName(c))))
	return q.redirect("/projects/%s/integrations", q.project.ID)
}

// cutName shortens a name for a notice, which a cookie carries.
func cutName(name string) string {
	if runes := []rune(name); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return name
}
