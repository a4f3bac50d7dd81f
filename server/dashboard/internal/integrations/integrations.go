package integrations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

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
	// Reach says whether alerts arrive, and Arrives in words.
	Reach   verdict.Reach
	Arrives string
	// Last is the newest delivery, or nil.
	Last *deliveryRow
	// Lacks says why nobody sends alerts of the kind, or "".
	Lacks string
}

// integrationsPage lists the integrations of a project.
func integrationsPage(q *ui.Request) error {
	list, any, err := integrations(q)
	if err != nil {
		return err
	}
	onAlert := q.Mon.Configured(channels.Function) == nil
	return q.Render("integrations", "Integrations", struct {
		Rows                     []integration
		Make, AnyChecks, OnAlert bool
	}{list, len(kindsToMake(q)) > 0, any, onAlert})
}

// integrations returns all integrations of the project, those that fail first and then the oldest, and whether it has checks.
func integrations(q *ui.Request) (rows []integration, anyChecks bool, err error) {
	available, err := q.Mon.Project(q.Project.ID).Channels(q.Ctx())
	if err != nil {
		return nil, false, err
	}
	reach, err := q.Mon.Project(q.Project.ID).Reach(q.Ctx(), available, true)
	if err != nil {
		return nil, false, err
	}
	counts, groups, anyChecks, err := usage(q, available)
	if err != nil {
		return nil, false, err
	}
	rows = make([]integration, len(available))
	for i, c := range available {
		rows[i] = integrationOf(q, c)
		rows[i].Checks, rows[i].Groups = counts[c.ID], groups[c.ID]
		rows[i].reached(q, c, reach[c.ID])
		if rows[i].Last, err = lastDelivery(q, c.ID); err != nil {
			return nil, false, err
		}
	}
	slices.SortStableFunc(rows, func(a, b integration) int { return ui.TrueFirst(a.Failing(), b.Failing()) })
	return rows, anyChecks, nil
}

// failing returns those of the integrations at which alerts do not arrive, but no groups: their members are among them.
func failing(q *ui.Request, available []channels.Channel) (rows []integration, err error) {
	reach, err := q.Mon.Project(q.Project.ID).Reach(q.Ctx(), available, true)
	for _, c := range available {
		row := integrationOf(q, c)
		if row.reached(q, c, reach[c.ID]); row.Failing() && c.Kind != channels.Group {
			rows = append(rows, row)
		}
	}
	return rows, err
}

// reached fills in whether alerts arrive.
func (i *integration) reached(q *ui.Request, c channels.Channel, r verdict.Reach) {
	i.Reach = r
	if i.Arrives = q.Clock().Reach(r, q.Mon.Now()); c.Kind == channels.Group && i.Failing() {
		i.Arrives = "failing: see its members" // which say since when and why
	}
}

func integrationOf(q *ui.Request, c channels.Channel) integration {
	row := integration{ID: c.ID, Name: ui.ChannelName(c), Kind: string(c.Kind), Title: string(c.Kind)}
	if info, ok := q.Mon.Kind(c.Kind); ok {
		row.Title = kindTitle(info)
	}
	switch down, up := c.Wants(channels.Down), c.Wants(channels.Up); {
	case down && !up:
		row.Only = channels.Down
	case up && !down:
		row.Only = channels.Up
	}
	if err := q.Mon.Undeliverable(c.Kind); err != nil {
		row.Lacks = lacks(err)
	}
	return row
}

// lacks says for people why a kind cannot be sent.
func lacks(err error) string {
	if none, ok := errors.AsType[*channels.NotConfiguredError](err); ok && none.Missing != "" {
		return none.Missing
	}
	return "no sender is configured for this kind"
}

// usage counts the checks that alert each channel, also through groups, names the groups of each channel, and reports whether
// there are checks.
func usage(q *ui.Request, available []channels.Channel) (counts map[uuid.UUID]int, groups map[uuid.UUID][]string, anyChecks bool, err error) {
	counts, groups = map[uuid.UUID]int{}, map[uuid.UUID][]string{}
	members := map[uuid.UUID][]uuid.UUID{}
	for _, c := range available {
		if c.Kind != channels.Group {
			continue
		}
		members[c.ID] = ui.Members(c)
		for _, id := range members[c.ID] {
			groups[id] = append(groups[id], ui.ChannelName(c))
		}
	}
	for c, err := range q.Mon.Project(q.Project.ID).EachCheck(q.Ctx(), checks.Query{}) {
		if err != nil {
			return nil, nil, false, err
		}
		anyChecks = true
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
	return counts, groups, anyChecks, nil
}

func lastDelivery(q *ui.Request, channel uuid.UUID) (*deliveryRow, error) {
	for d, err := range q.Mon.Project(q.Project.ID).Deliveries(q.Ctx(), checks.DeliveryQuery{Channel: channel, Limit: 1}) {
		if err != nil {
			return nil, err
		}
		return new(deliveryRowOf(q.UnnamedAlert(d), q.Right.Edits())), nil
	}
	return nil, nil
}

// mayMake reports whether pages make and change channels of a kind. See [ui.Config].Kinds.
func mayMake(q *ui.Request, info channels.Type) bool {
	if q.Config.Kinds != nil {
		return slices.Contains(q.Config.Kinds, info.Kind)
	}
	return !info.Privileged
}

// kindsToMake returns the kinds of which pages make channels, each once.
func kindsToMake(q *ui.Request) (list []channels.Type) {
	for _, info := range q.Mon.Kinds() {
		if mayMake(q, info) {
			list = append(list, info)
		}
	}
	return list
}

func kindTitle(info channels.Type) string {
	if info.Title != "" {
		return info.Title
	}
	return string(info.Kind)
}

// channel returns the channel that the path names.
func channel(q *ui.Request) (channels.Channel, error) {
	list, err := q.Mon.Project(q.Project.ID).Channels(q.Ctx())
	if err != nil {
		return channels.Channel{}, err
	}
	i := slices.IndexFunc(list, func(c channels.Channel) bool { return c.ID.String() == q.R.PathValue("channel") })
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
	// Unsaved says that the form was tested, which is not saved.
	Unsaved bool
	// Errors are the reasons of a failure: one, or one for each member of a group that failed.
	Errors []string
	// Answer is what the receiver of a test that was sent has answered over HTTP, such as "200 OK: ok", or "".
	Answer string
}

// In says how long the test took.
func (r *testResult) In() string {
	if r.Took < time.Second {
		return fmt.Sprintf("in %d ms", r.Took.Milliseconds())
	}
	return "in " + prose.Duration(r.Took)
}

// testTyped sends a test alert to a channel as the form describes it, and answers with the form and the result. Nothing is
// saved.
func testTyped(q *ui.Request, view integrationForm, form url.Values, c channels.Channel) error {
	var refused error
	answer := func(ctx context.Context) error {
		err := q.Mon.Project(q.Project.ID).TryChannel(ctx, c)
		_, isSetting := errors.AsType[*channels.SettingError](err)
		if _, isName := errors.AsType[*checks.FieldError](err); isSetting || isName {
			refused = err
		}
		return err
	}
	test := try(q, answer)
	switch {
	case test == nil:
		view.Form.Title, view.Form.Problem = "Not sent", tooManyTests
		return showForm(q, http.StatusTooManyRequests, view)
	case refused != nil:
		return refuse(q, view, form, refused)
	}
	view.Test = test
	view.Test.Unsaved = true
	return showForm(q, http.StatusOK, view)
}

// showTest sends a test alert to a channel as it is stored, and answers with its page and the result.
func showTest(q *ui.Request, view integrationForm, send func(context.Context) error) error {
	test := try(q, send)
	if test == nil {
		view.Form.Title, view.Form.Problem = "Not sent", tooManyTests
		return showForm(q, http.StatusTooManyRequests, view)
	}
	view.Test = test
	return showForm(q, http.StatusOK, view)
}

const tooManyTests = "Too many tests. Wait a few seconds, then try again."

// try sends a test alert. The result is nil if the project has sent too many.
func try(q *ui.Request, send func(context.Context) error) *testResult {
	if q.Busy.Wait(q.Project.ID) > 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(q.Ctx(), testTime)
	defer cancel()
	var mu sync.Mutex
	var answer string
	heard := func(status int, text string) {
		mu.Lock()
		defer mu.Unlock()
		answer = strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
		if text != "" {
			answer += ": " + text
		}
	}
	began := time.Now()
	failure := send(outbound.Listen(ctx, heard))
	result := &testResult{Sent: failure == nil, Took: time.Since(began)}
	mu.Lock()
	defer mu.Unlock()
	if failure != nil {
		result.Errors = strings.Split(failure.Error(), "\n")
	} else {
		result.Answer = answer
	}
	return result
}

// deleteIntegrationPage asks before an integration is deleted.
func deleteIntegrationPage(q *ui.Request) error {
	c, err := channel(q)
	if err != nil {
		return err
	}
	view, err := formOf(q, c)
	if err != nil {
		return err
	}
	return q.Render("integrationdelete", "Delete an integration", view)
}

func deleteIntegration(q *ui.Request) error {
	c, err := channel(q)
	if err != nil {
		return err
	}
	if err := q.Mon.Project(q.Project.ID).DeleteChannel(q.Ctx(), c.ID); err != nil {
		return err
	}
	q.Notice(fmt.Sprintf("Deleted %s.", words.Short(ui.ChannelName(c))))
	return q.Redirect("/projects/%s/integrations", q.Project.ID)
}

// Failing reports whether alerts do not arrive, or not all, although this server sends them.
func (i integration) Failing() bool {
	return i.Reach.State == verdict.ReachFailing || i.Reach.State == verdict.ReachPartial
}
