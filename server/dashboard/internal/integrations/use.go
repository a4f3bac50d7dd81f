package integrations

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
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
	list    []checks.Check
}

// maxChoices is up to how many checks a form lists them.
const maxChoices = 1000

// useOf returns the choice of a form. A form that has none gets all checks for the first integration of a project; for
// another one, the viewer must choose.
func useOf(q *ui.Request, form url.Values) (u useChoice, err error) {
	if u.list, err = checks.Stored(q.Mon.Project(q.Project.ID).Checks(q.Ctx(), checks.Query{})); err != nil {
		return u, err
	}
	u.Mode = form.Get("use")
	if !slices.Contains([]string{"all", "none", "some"}, u.Mode) {
		u.Mode = ""
	}
	if q.R.Method == http.MethodGet {
		counts, err := q.Count()
		if err != nil {
			return u, err
		}
		if counts.Channels == 0 {
			u.Mode = "all"
		}
	}
	u.choices(form)
	switch {
	case len(u.list) == 0 || q.R.Method == http.MethodGet || form.Get("action") == "test":
	case u.Mode == "":
		u.Problem = "Choose which checks use it."
	case u.Mode == "some" && len(u.chosen()) == 0:
		u.Problem = "Choose tags or checks, or no check."
	}
	return u, nil
}

// choices makes the lists to choose from.
func (u *useChoice) choices(form url.Values) {
	counts, ticked, tags := map[string]int{}, ui.Ticked(form, "check"), ui.Ticked(form, "tag")
	for _, c := range u.list {
		for _, tag := range words.Names(c.TagList()) {
			counts[tag]++
		}
		if len(u.list) <= maxChoices {
			u.Checks = append(u.Checks, ui.Choice{Value: c.ID.String(), Label: ui.NameOf(c), Selected: ticked[c.ID.String()]})
		}
	}
	for tag, n := range counts {
		u.Tags = append(u.Tags, ui.Choice{Value: tag, Label: tag, Hint: prose.Count(n, "check"), Selected: tags[tag]})
	}
	slices.SortFunc(u.Tags, func(a, b ui.Choice) int { return strings.Compare(a.Label, b.Label) })
	slices.SortStableFunc(u.Checks, func(a, b ui.Choice) int { return strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)) })
}

// chosen returns the checks that are chosen.
func (u useChoice) chosen() (list []checks.Check) {
	selected := func(of []ui.Choice) map[string]bool {
		set := map[string]bool{}
		for _, c := range of {
			set[c.Value] = c.Selected
		}
		return set
	}
	tags, ids := selected(u.Tags), selected(u.Checks)
	for _, c := range u.list {
		tagged := slices.ContainsFunc(words.Names(c.TagList()), func(tag string) bool { return tags[tag] })
		if u.Mode == "all" || u.Mode == "some" && (tagged || ids[c.ID.String()]) {
			list = append(list, c)
		}
	}
	return list
}

// use adds an integration to checks, and returns how many did not have it.
func use(q *ui.Request, channel uuid.UUID, list []checks.Check) (undo ui.Undo, done int, err error) {
	for _, c := range list {
		if slices.Contains(c.Channels, channel) {
			continue
		}
		changed, err := undo.Update(q, c.ID, func(c checks.Check) checks.Spec {
			return checks.Spec{Channels: new(ui.Selection(append(ui.ChannelIDs(c), channel.String())))}
		})
		if err != nil && !errors.Is(err, checks.ErrNotFound) {
			return undo, done, err
		}
		if changed {
			done++
		}
	}
	return undo, done, nil
}

// useView is the data of the page that asks which checks get an integration.
type useView struct {
	integrationForm
	Checks []ui.Choice // those that do not use it yet
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
	list, err := checks.Stored(q.Mon.Project(q.Project.ID).Checks(q.Ctx(), checks.Query{}))
	if err != nil {
		return err
	}
	view := useView{integrationForm: form}
	for _, each := range list {
		if !slices.Contains(each.Channels, c.ID) {
			view.Checks = append(view.Checks, ui.Choice{Value: each.ID.String(), Label: ui.NameOf(each), Selected: true})
		}
	}
	return q.Render("integrationuse", "Use an integration", view)
}

// useIntegration makes the chosen checks alert an integration.
func useIntegration(q *ui.Request) error {
	c, err := channel(q)
	if err != nil {
		return err
	}
	list, err := checks.Stored(q.Mon.Project(q.Project.ID).Checks(q.Ctx(), checks.Query{}))
	if err != nil {
		return err
	}
	ticked := ui.Ticked(q.R.PostForm, "check")
	list = slices.DeleteFunc(list, func(c checks.Check) bool { return !ticked[c.ID.String()] })
	undo, done, err := use(q, c.ID, list)
	if err != nil {
		return err
	}
	if err := q.NoticeUndo(fmt.Sprintf("Added %s to %s.", words.Short(ui.ChannelName(c)), prose.Count(done, "check")), undo); err != nil {
		return err
	}
	return q.Redirect("/projects/%s/integrations/%s", q.Project.ID, c.ID)
}
