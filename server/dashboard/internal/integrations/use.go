package integrations

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// useChoice is the choice of the checks that use an integration.
type useChoice struct {
	// Mode is "all", "none", "some", or "" if nothing was chosen yet.
	Mode   string
	Tags   []ui.Choice
	Checks []ui.Choice // empty if there are too many to choose from
	// Problem says why the choice cannot be saved. A form that is not to be saved has none.
	Problem string
	total   int // checks of the project
}

// maxChoices is up to how many checks a form lists them.
const maxChoices = 1000

// valueOf is the value of a check in a form. It is shorter than the identifier, which weighs most where a form lists a thousand checks.
func valueOf(id uuid.UUID) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// useOf returns the choice of a form. A form that has none gets all checks for the first integration of a project; for
// another one, the viewer must choose.
func useOf(q *ui.Request, form url.Values) (u useChoice, err error) {
	sets, err := q.Mon.Project(q.Project.ID).TagSets(q.Ctx(), nil)
	if err != nil {
		return u, err
	}
	u.total = checks.CountAll(sets).Total()
	u.Mode = form.Get("use")
	if !slices.Contains([]string{"all", "none", "some"}, u.Mode) {
		u.Mode = ""
	}
	if q.R.Method == http.MethodGet {
		available, err := q.Mon.Project(q.Project.ID).Channels(q.Ctx())
		if err != nil {
			return u, err
		}
		if len(available) == 0 {
			u.Mode = "all"
		}
	}
	if err := u.choices(q, sets, form); err != nil {
		return u, err
	}
	ticked := func(c ui.Choice) bool { return c.Selected }
	switch {
	case u.total == 0 || q.R.Method == http.MethodGet || form.Get("action") == "test":
	case u.Mode == "":
		u.Problem = "Choose which checks use it."
	case u.Mode == "some" && !slices.ContainsFunc(u.Tags, ticked) && !slices.ContainsFunc(u.Checks, ticked):
		u.Problem = "Choose tags or checks, or no check."
	}
	return u, nil
}

// choices makes the lists to choose from.
func (u *useChoice) choices(q *ui.Request, sets []checks.TagSet, form url.Values) error {
	counts, ticked, tags := map[string]int{}, ui.Ticked(form, "check"), ui.Ticked(form, "tag")
	for _, set := range sets {
		for _, tag := range words.Names(set.Tags) {
			counts[tag] += set.Total()
		}
	}
	if u.total <= maxChoices {
		list, err := checks.Stored(q.Mon.Project(q.Project.ID).Checks(q.Ctx(), checks.Query{}))
		if err != nil {
			return err
		}
		for _, c := range list {
			u.Checks = append(u.Checks, ui.Choice{Value: valueOf(c.ID), Label: ui.NameOf(c), Selected: ticked[valueOf(c.ID)]})
		}
	}
	for tag, n := range counts {
		u.Tags = append(u.Tags, ui.Choice{Value: tag, Label: tag, Hint: prose.Count(n, "check"), Selected: tags[tag]})
	}
	slices.SortFunc(u.Tags, func(a, b ui.Choice) int { return strings.Compare(a.Label, b.Label) })
	slices.SortStableFunc(u.Checks, func(a, b ui.Choice) int { return strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)) })
	return nil
}

// chosen returns the checks that are chosen and do not use an integration yet.
func (u useChoice) chosen(q *ui.Request, channel uuid.UUID) (list []checks.Check, err error) {
	if u.Mode != "all" && u.Mode != "some" {
		return nil, nil
	}
	selected := func(of []ui.Choice) map[string]bool {
		set := map[string]bool{}
		for _, c := range of {
			set[c.Value] = c.Selected
		}
		return set
	}
	tags, ids := selected(u.Tags), selected(u.Checks)
	for c, err := range q.Mon.Project(q.Project.ID).EachCheck(q.Ctx(), checks.Query{}) {
		if err != nil {
			return nil, err
		}
		tagged := slices.ContainsFunc(words.Names(c.TagList()), func(tag string) bool { return tags[tag] })
		if (u.Mode == "all" || tagged || ids[valueOf(c.ID)]) && !slices.Contains(c.Channels, channel) {
			list = append(list, *c.Check)
		}
	}
	return list, nil
}

// use adds an integration to the checks that do not have it.
func use(q *ui.Request, channel uuid.UUID, list []checks.Check) (ui.Outcome, error) {
	changes := make([]monitor.Change, len(list))
	for i, c := range list {
		changes[i] = ui.Updating(c.ID, func(c checks.Check) checks.Spec {
			return checks.Spec{Channels: new(ui.Selection(append(ui.ChannelIDs(c), channel.String())))}
		})
	}
	return q.ChangeMany(changes)
}

// useView is the data of the page that asks which checks get an integration.
type useView struct {
	integrationForm
	Checks []ui.Choice // the first that do not use it yet
	More   bool        // there are others
}

// usePage lists the checks that do not use an integration, all of them ticked.
func usePage(q *ui.Request) error {
	c, err := channel(q)
	if err != nil {
		return err
	}
	form, err := formOf(q, c)
	if err != nil {
		return err
	}
	view := useView{integrationForm: form}
	for each, err := range q.Mon.Project(q.Project.ID).EachCheck(q.Ctx(), checks.Query{}) {
		if err != nil {
			return err
		}
		if slices.Contains(each.Channels, c.ID) {
			continue
		}
		if view.More = len(view.Checks) == maxChoices; view.More {
			break
		}
		view.Checks = append(view.Checks, ui.Choice{Value: valueOf(each.ID), Label: ui.NameOf(*each.Check), Selected: true})
	}
	return q.Render("integrationuse", "Use an integration", view)
}

// useIntegration makes the chosen checks alert an integration.
func useIntegration(q *ui.Request) error {
	c, err := channel(q)
	if err != nil {
		return err
	}
	ticked := ui.Ticked(q.R.PostForm, "check")
	var list []checks.Check
	for each, err := range q.Mon.Project(q.Project.ID).EachCheck(q.Ctx(), checks.Query{}) {
		if err != nil {
			return err
		}
		if ticked[valueOf(each.ID)] && !slices.Contains(each.Channels, c.ID) {
			list = append(list, *each.Check)
		}
	}
	o, err := use(q, c.ID, list)
	if err != nil {
		return err
	}
	if err := q.NoticeUndo(fmt.Sprintf("Added %s to %s.", words.Short(ui.ChannelName(c)), prose.Count(o.Done, "check"))+o.Rest(), o.Undo); err != nil {
		return err
	}
	return q.Redirect("/projects/%s/integrations/%s", q.Project.ID, c.ID)
}
