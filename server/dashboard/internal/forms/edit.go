package forms

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// editView is the data of the form of a check.
type editView struct {
	// Check is the check that is edited; a new one has no name and no project.
	Check checks.Check
	New   bool
	// Source is the name of the check that is copied.
	Source string
	Form   form
	// Fields are the inputs. Their Was is the form as the viewer has seen it first, encoded. It tells what the viewer has changed.
	Fields  ui.Form
	Choices []channelChoice
	// OnAlert says that a function of the program gets all alerts.
	OnAlert bool
	// CanMove says that there is another project that the viewer may edit.
	CanMove bool
	Zones   []string
	// disputed are the settings that another person has changed too, and now is the check as it is since.
	disputed []formSetting
	now      form

	Times timesPreview
	Week  weekPreview
	Try   tryPreview
	Slug  slugPreview
	After afterPreview
}

// channelChoice is an integration to choose.
type channelChoice struct {
	ID, Name string
	Kind     channels.Kind
	On       bool
	Failing  bool
}

// Heading is the heading of the page.
func (v *editView) Heading() string {
	switch {
	case v.Source != "":
		return "Copy of " + v.Source
	case v.New:
		return "New check"
	}
	return "Edit " + ui.NameOf(v.Check)
}

// zones are the names of time zones to choose from.
var zones = schedule.Zones()

// newCheckPage shows the form of a new check, with the viewer's time zone and all integrations.
func newCheckPage(q *ui.Request) error {
	f := form{}
	for name, text := range defaultForm {
		f[name] = text
	}
	f["tz"], f["channels"] = q.Clock().Zone.String(), "*"
	return showEdit(q, http.StatusOK, newEditView(editView{New: true, Check: checks.Check{ID: uuid.New()}, Form: f}))
}

// copyPage shows the form of a new check with the settings of another.
func copyPage(q *ui.Request) error {
	f := formOf(q.Check)
	name := []rune(ui.NameOf(q.Check))
	f["name"] = string(name[:min(len(name), checks.MaxName-len(" copy"))]) + " copy"
	f["slug"] = ""
	return showEdit(q, http.StatusOK, newEditView(editView{New: true, Source: ui.NameOf(q.Check), Check: checks.Check{ID: uuid.New()}, Form: f}))
}

// editPage shows the form of a check.
func editPage(q *ui.Request) error {
	f := formOf(q.Check)
	v := newEditView(editView{Check: q.Check, Form: f})
	v.Fields.Was = f.encode()
	return showEdit(q, http.StatusOK, v)
}

// showEdit answers with the form.
func showEdit(q *ui.Request, status int, v *editView) error {
	list, err := q.Mon.Project(q.Project.ID).Channels(q.Ctx())
	if err != nil {
		return err
	}
	v.OnAlert = q.Mon.Configured(channels.Function) == nil
	all, chosen := v.Form["channels"] == "*", map[string]bool{}
	for id := range strings.SplitSeq(v.Form["channels"], ",") {
		chosen[id] = true
	}
	for _, c := range list {
		v.Choices = append(v.Choices, channelChoice{
			ID: c.ID.String(), Name: words.Name(c.Name, string(c.Kind)), Kind: c.Kind, Failing: !c.FailedAt.IsZero(),
			On: all || chosen[c.ID.String()],
		})
	}
	for _, s := range v.disputed {
		v.Fields.Wrong(v.inputOf(s.name), fmt.Sprintf("%s was changed by someone else to “%s”. Save again to use your value.", ui.SettingLabel(s.name), v.shownValue(s, v.now)))
	}
	for i := range v.Fields.Fields {
		in := &v.Fields.Fields[i]
		in.Value = v.Form[in.Name]
	}
	v.Zones, v.CanMove = zones, len(targets(q)) > 0
	v.Times = previewTimes(v.Form, v.Check, q.Clock(), q.Mon.Now())
	v.Week = previewWeek(v.Form, q.Clock(), q.Mon.Now())
	v.Try = previewTry(v.Form)
	if v.Slug, err = previewSlug(q, v.Form, v.Check.ID); err != nil {
		return err
	}
	if v.After, err = previewAfter(q, v.Form, v.Check.ID); err != nil {
		return err
	}
	return q.RenderStatus(status, "edit", v.Heading(), v)
}

// inputOf returns the input to which an error about a setting belongs.
func (v *editView) inputOf(field string) string {
	if field != whenSetting.name {
		return field
	}
	if v.Form["kind"] == kindSchedule {
		return "schedule"
	}
	return "timeout"
}

// preview answers with one of the previews of a form, for the script of the page.
func preview(q *ui.Request) error {
	f := readForm(q.R.PostForm, defaultForm)
	self, _ := uuid.Parse(q.R.PostForm.Get("id"))
	var data any
	switch q.R.PathValue("part") {
	case "schedule":
		c, err := q.Mon.Project(q.Project.ID).Check(q.Ctx(), self)
		if errors.Is(err, checks.ErrNotFound) {
			c, err = checks.Snapshot{Check: new(checks.Check)}, nil
		}
		if err != nil {
			return err
		}
		data = previewTimes(f, *c.Check, q.Clock(), q.Mon.Now())
	case "week":
		data = previewWeek(f, q.Clock(), q.Mon.Now())
	case "try":
		data = previewTry(f)
	case "slug":
		slug, err := previewSlug(q, f, self)
		if err != nil {
			return err
		}
		data = slug
	case "after":
		after, err := previewAfter(q, f, self)
		if err != nil {
			return err
		}
		data = after
	default:
		return checks.ErrNotFound
	}
	return q.RenderPart("edit", "preview-"+q.R.PathValue("part"), data)
}

// createCheck makes a check. The page names its identifier, so that a form that is sent twice makes one check.
func createCheck(q *ui.Request) error {
	id, err := uuid.Parse(q.R.PostForm.Get("id"))
	if err != nil {
		return ui.ErrBadForm
	}
	v := newEditView(editView{New: true, Source: words.Cut(q.R.PostForm.Get("source"), checks.MaxName), Check: checks.Check{ID: id}, Form: readForm(q.R.PostForm, defaultForm)})
	spec := v.spec(formSettings, q.Mon.Now())
	if q.R.PostForm.Has("preview") {
		return showEdit(q, http.StatusOK, v)
	}
	if v.confirm(q.R.PostForm); v.Fields.Refused() {
		return showEdit(q, http.StatusUnprocessableEntity, v)
	}
	spec.ID = id
	c, err := q.Mon.Project(q.Project.ID).Create(q.Ctx(), spec)
	if errors.Is(err, checks.ErrExists) {
		if c, err = q.Mon.Project(q.Project.ID).Check(q.Ctx(), id); errors.Is(err, checks.ErrNotFound) { // it is in another project
			err = ui.ErrBadForm
		}
	}
	if err != nil {
		return refused(q, v, err)
	}
	q.Notice(strings.TrimSpace("Check created. Waiting for its first ping. " + v.Form["stored"]))
	return q.Redirect("/checks/%s", c.UniqueKey)
}

// refused shows the form again with an error of the library.
func refused(q *ui.Request, v *editView, err error) error {
	if v.refuse(err) {
		return showEdit(q, http.StatusUnprocessableEntity, v)
	}
	if errors.Is(err, checks.ErrCheckLimit) {
		v.Fields.Problem = fmt.Sprintf("Check not created: this account is limited to %s.", prose.Count(q.Project.CheckLimit(), "check"))
		return showEdit(q, http.StatusUnprocessableEntity, v)
	}
	return err
}

// errDisputed reports that another person has changed a setting that the viewer changes.
var errDisputed = errors.New("another person has changed the same setting")

// saveCheck changes the settings of a check that the viewer has changed on the page, and no others. So two people who edit
// different settings at once both succeed. If another person has changed one of the same settings since the page was
// opened, nothing is saved: the page comes back and shows the other value. To save again then replaces it.
func saveCheck(q *ui.Request) error {
	was, err := decodeForm(q.R.PostForm.Get("was"))
	if err != nil {
		return err
	}
	v := newEditView(editView{Check: q.Check, Form: readForm(q.R.PostForm, was)})
	v.Fields.Was = was.encode()
	mine := v.Form.changed(was)
	spec := v.spec(mine, q.Mon.Now())
	if q.R.PostForm.Has("preview") {
		return showEdit(q, http.StatusOK, v)
	}
	if v.confirm(q.R.PostForm); v.Fields.Refused() {
		return showEdit(q, http.StatusUnprocessableEntity, v)
	}
	if len(mine) == 0 {
		q.Notice("Nothing was changed.")
		return q.Redirect("/checks/%s", q.Check.UniqueKey())
	}
	var theirs form
	_, err = q.Mon.Project(q.Check.ProjectID).UpdateFunc(q.Ctx(), q.Check.ID, func(c checks.Check) (checks.Spec, error) {
		theirs = formOf(c)
		if len(conflicts(mine, v.Form, was, theirs)) > 0 {
			return checks.Spec{}, errDisputed
		}
		return spec, nil
	})
	switch {
	case errors.Is(err, errDisputed):
		v.merge(mine, was, theirs)
		return showEdit(q, http.StatusConflict, v)
	case err != nil:
		return refused(q, v, err)
	}
	q.Notice(strings.TrimSpace(savedText(theirs.changed(was), mine) + " " + v.Form["stored"]))
	return q.Redirect("/checks/%s", q.Check.UniqueKey())
}

// conflicts returns those of the settings that another person has changed too, to something else.
func conflicts(mine []formSetting, f, was, theirs form) []formSetting {
	return slices.DeleteFunc(slices.Clone(mine), func(s formSetting) bool {
		now := s.value(theirs)
		return now == s.value(was) || now == s.value(f)
	})
}

// merge makes the form one of the check as it is now, with the viewer's changes, and marks conflicts.
func (v *editView) merge(mine []formSetting, was, theirs form) {
	v.disputed = conflicts(mine, v.Form, was, theirs)
	for _, s := range formSettings {
		if slices.ContainsFunc(mine, func(m formSetting) bool { return m.name == s.name }) {
			continue
		}
		for _, name := range s.inputs {
			v.Form[name] = theirs[name]
		}
	}
	v.Fields.Was, v.now = theirs.encode(), theirs
}

// savedText says what was saved, and what another person has changed since the page was opened.
func savedText(theirs, mine []formSetting) string {
	var others []string
	for _, s := range theirs {
		if !slices.ContainsFunc(mine, func(m formSetting) bool { return m.name == s.name }) {
			others = append(others, ui.SettingNoun(s.name))
		}
	}
	if others == nil {
		return "Saved."
	}
	return "Saved. Someone else also changed: " + strings.Join(others, ", ") + "."
}
