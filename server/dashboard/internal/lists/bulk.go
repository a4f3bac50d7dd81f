package lists

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// bulk changes the selected checks, or asks what to change or whether to delete them.
func bulk(q *ui.Request) error {
	list, err := selected(q)
	if err != nil {
		return err
	}
	action := q.R.PostForm.Get("action")
	change, isChange := bulkChanges[action]
	switch {
	case action != "edit" && action != "delete" && action != "snooze" && action != "acknowledge" && !isChange:
		return ui.ErrBadForm
	case len(list) == 0:
		q.Notice("Select at least one check.")
		return backToList(q)
	case action == "edit":
		return showBulkEdit(q, http.StatusOK, &bulkEdit{bulkView: bulkViewOf(q, list), Form: bulkForm()})
	case action == "snooze":
		if err := q.Snooze(q.R.PostForm.Get("for"), list...); err != nil {
			return err
		}
		return backToList(q)
	case action == "acknowledge":
		return acknowledge(q, list)
	case action == "delete":
		return q.Render("bulkdelete", "Delete "+prose.Count(len(list), "check"), bulkViewOf(q, list))
	}
	tags, err := typedTags(q.R.PostForm, "tag")
	if err != nil {
		return err
	}
	if change.tags && len(tags) == 0 {
		q.Notice("Enter a tag. Nothing was changed.")
		return backToList(q)
	}
	var changes []monitor.Change
	for _, c := range list {
		if change.needed == nil || change.needed(c) {
			changes = append(changes, change.of(c, tags))
		}
	}
	o, err := q.ChangeMany(changes)
	if err != nil {
		return err
	}
	o.Same += len(list) - len(changes)
	if err := q.NoticeUndo(bulkNotice(change.done, o, change.already), o.Undo); err != nil {
		return err
	}
	return backToList(q)
}

// acknowledge acknowledges the outages of those of the checks that are down, in the name of the viewer, and leads back to the page with
// the button. It says who has the others.
func acknowledge(q *ui.Request, list []checks.Check) error {
	now := q.Mon.Now()
	var changes []monitor.Change
	for _, c := range list {
		if c.Status(now) == checks.StatusDown {
			changes = append(changes, monitor.Acknowledging(c.ID, checks.AckSpec{}))
		}
	}
	o, err := q.ChangeMany(changes)
	if err != nil {
		return err
	}
	unchanged := o.Same - o.Up
	o.Up += len(list) - len(changes)
	if err := q.NoticeUndo(ackNotice(o, unchanged), o.Undo); err != nil {
		return err
	}
	if q.R.URL.Query().Get("to") == "overview" {
		return q.Redirect("/projects/%s/overview", q.Project.ID)
	}
	return backToList(q)
}

// ackNotice says how many outages the viewer has now, and who has the others. unchanged counts those that are down and did not change.
func ackNotice(o ui.Outcome, unchanged int) string {
	text := "Acknowledged: you have " + prose.Count(o.Done, "check") + "."
	if o.Done == 0 {
		text = "Nothing was acknowledged."
	}
	for _, owner := range slices.Sorted(maps.Keys(o.Taken)) {
		text += fmt.Sprintf(" %s has %d.", words.Short(owner), o.Taken[owner])
		unchanged -= o.Taken[owner]
	}
	if unchanged > 0 {
		text += fmt.Sprintf(" You had %d already.", unchanged)
	}
	switch {
	case o.Up == 1:
		text += " 1 is not down."
	case o.Up > 1:
		text += fmt.Sprintf(" %d are not down.", o.Up)
	}
	return text + o.Rest()
}

// bulkNotice says how many checks an action has changed, and what about the others.
func bulkNotice(what string, o ui.Outcome, already string) string {
	text := fmt.Sprintf("%s %s.", what, prose.Count(o.Done, "check"))
	switch {
	case o.Same == 1:
		text += " 1 " + strings.Replace(already, "were", "was", 1) + "."
	case o.Same > 1:
		text += fmt.Sprintf(" %d %s.", o.Same, already)
	}
	return text + o.Rest()
}

func backToList(q *ui.Request) error {
	return q.Redirect("/projects/%s/%s", q.Project.ID, parseListQuery(q.R.URL.Query()).With("", ""))
}

// selected returns the checks that a form selects: those with their identifiers in it, or all that its address matches.
func selected(q *ui.Request) ([]checks.Check, error) {
	ids := map[uuid.UUID]bool{}
	for _, text := range strings.Fields(strings.Join(q.R.PostForm["check"], " ")) { // the row of a group has several
		id, err := uuid.Parse(text)
		if err != nil {
			return nil, ui.ErrBadForm
		}
		ids[id] = true
	}
	project := q.Mon.Project(q.Project.ID)
	var list []checks.Check
	if q.R.PostForm.Get("all") != "" {
		view, err := find(q)
		if err != nil {
			return nil, err
		}
		if view.list.Order = checks.ListByAge; view.matching > 0 {
			if list, err = project.List(q.Ctx(), view.list); err != nil {
				return nil, err
			}
		}
		for _, c := range list {
			delete(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return list, nil
	}
	named, err := project.List(q.Ctx(), checks.ListQuery{IDs: slices.Collect(maps.Keys(ids)), Order: checks.ListByAge})
	return append(list, named...), err
}

// bulkChanges are what the form of the list changes at once.
var bulkChanges = map[string]struct {
	// done says in the notice what was done, and already what those checks were that have not changed.
	done, already string
	// tags says that the form must name a tag.
	tags bool
	// needed says whether a check needs the change; nil leaves that to the change.
	needed func(checks.Check) bool
	of     func(c checks.Check, tags []string) monitor.Change
}{
	"pause": {"Paused", "were paused already", false,
		func(c checks.Check) bool { return c.Stored != checks.StatusPaused }, // to pause it again would move the beginning of the pause
		func(c checks.Check, _ []string) monitor.Change { return monitor.Pausing(c.ID) }},
	"resume": {"Resumed", "were not paused", false, nil,
		func(c checks.Check, _ []string) monitor.Change { return monitor.Resuming(c.ID) }},
	"tag": {"Tagged", "had the tags already", true, nil, func(c checks.Check, tags []string) monitor.Change {
		return ui.Updating(c.ID, func(c checks.Check) checks.Spec { return checks.Spec{Tags: changedTags(c, tags, nil)} })
	}},
	"untag": {"Untagged", "did not have the tags", true, nil, func(c checks.Check, tags []string) monitor.Change {
		return ui.Updating(c.ID, func(c checks.Check) checks.Spec { return checks.Spec{Tags: changedTags(c, nil, tags)} })
	}},
}

// typedTags reads tags. The error is a *[checks.FieldError] if they are more than a check can have.
func typedTags(form url.Values, name string) ([]string, error) {
	var spec checks.Spec
	checks.SettingNamed("tags").Set(&spec, form.Get(name))
	err := spec.Validate(time.Time{})
	return strings.Fields(form.Get(name)), err
}

// changedTags returns the tags of a check with some more and without others. The list is not nil.
func changedTags(c checks.Check, more, without []string) []string {
	tags := append([]string{}, c.TagList()...)
	for _, tag := range more {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return slices.DeleteFunc(tags, func(tag string) bool { return slices.Contains(without, tag) })
}

// bulkView is the data of the pages about selected checks.
type bulkView struct {
	Checks []ui.Choice
	// Query is that of the list, for the way back.
	Query string
}

func bulkViewOf(q *ui.Request, list []checks.Check) bulkView {
	v := bulkView{Query: parseListQuery(q.R.URL.Query()).With("", "")}
	for _, c := range list {
		v.Checks = append(v.Checks, ui.Choice{Value: c.ID.String(), Label: ui.NameOf(c), Hint: c.UniqueKey()})
	}
	return v
}

// bulkDelete deletes the checks that the page before has listed.
func bulkDelete(q *ui.Request) error {
	list, err := selected(q)
	if err != nil {
		return err
	}
	changes := make([]monitor.Change, len(list))
	for i, c := range list {
		changes[i] = monitor.Deleting(c.ID)
	}
	o, err := q.ChangeMany(changes)
	if err != nil {
		return err
	}
	q.Notice("Deleted " + prose.Count(o.Done, "check") + "." + o.Rest())
	return backToList(q)
}

// bulkEdit is the data of the page that changes several checks.
type bulkEdit struct {
	bulkView
	Form     ui.Form
	Zones    []string
	Channels []ui.Choice
}

// bulkSettings are the settings that the page replaces.
var bulkSettings = []string{"timeout", "schedule", "grace", "tz"}

// bulkForm is the form that changes several checks. The page draws the choice of integrations.
func bulkForm() ui.Form {
	const plain = ` autocomplete="off" spellcheck="false"`
	label := ui.SettingLabel
	return ui.Form{Title: "Not saved", Fields: []ui.Field{
		{Name: "add_tags", ID: "tags", Setting: "tags", Label: "Add tags", Called: label("tags"), Attrs: `placeholder="prod db" maxlength="500" autocapitalize="off"` + plain},
		{Name: "drop_tags", Label: "Remove tags", Attrs: `maxlength="500" autocapitalize="off"` + plain},
		{Name: "timeout", Label: label("timeout"), Attrs: `placeholder="1 day" maxlength="40" autocomplete="off"`},
		{Name: "schedule", Label: "or schedule", Called: label("schedule"), Attrs: `placeholder="weekdays 7:30" maxlength="100"` + plain},
		{Name: "grace", Label: label("grace"), Attrs: `placeholder="1 h" maxlength="40" autocomplete="off"`},
		{Name: "tz", Label: label("tz"), Attrs: `placeholder="Europe/Riga" maxlength="64" list="zones"` + plain},
		{Name: "channels", Called: label("channels")},
	}}
}

var zones = schedule.Zones()

func showBulkEdit(q *ui.Request, status int, v *bulkEdit) error {
	available, err := q.Mon.Project(q.Project.ID).Channels(q.Ctx())
	if err != nil {
		return err
	}
	v.Zones = zones
	chosen := ui.Ticked(q.R.PostForm, "channel")
	for _, c := range available {
		v.Channels = append(v.Channels, ui.Choice{Value: c.ID.String(), Label: ui.ChannelName(c), Hint: string(c.Kind), Selected: chosen[c.ID.String()]})
	}
	return q.RenderStatus(status, "bulkedit", "Edit "+prose.Count(len(v.Checks), "check"), v)
}

// bulkSave changes the checks that the page before has listed.
func bulkSave(q *ui.Request) error {
	list, err := selected(q)
	if err != nil {
		return err
	}
	form := bulkForm()
	form.Read(q.R.PostForm)
	wanted, err := bulkSpec(form, q.R.PostForm)
	if err == nil {
		err = wanted.Validate(q.Mon.Now())
	}
	var o ui.Outcome
	if err == nil {
		changes := make([]monitor.Change, len(list))
		for i, c := range list {
			changes[i] = ui.Updating(c.ID, wanted.of)
		}
		o, err = q.ChangeMany(changes)
	}
	if gone, ok := errors.AsType[*channels.SelectError](err); ok {
		err = &checks.FieldError{Field: "channels", Reason: gone.Reason}
	}
	if form.Refuse(err) != 0 {
		return showBulkEdit(q, http.StatusUnprocessableEntity, &bulkEdit{bulkView: bulkViewOf(q, list), Form: form})
	}
	if err != nil {
		return err
	}
	if err := q.NoticeUndo(bulkNotice("Changed", o, "were like that already")+wanted.stored, o.Undo); err != nil {
		return err
	}
	return backToList(q)
}

// bulkChange is what a form changes of each check: settings, and those that depend on what the check has.
type bulkChange struct {
	checks.Spec
	more, without []string // tags
	mode          string   // add, drop or set, of the integrations in chosen
	chosen        map[string]bool
	stored        string // what words of the schedule became
}

// bulkSpec reads the form. The error is a *[checks.FieldError].
func bulkSpec(f ui.Form, form url.Values) (s bulkChange, err error) {
	for _, name := range bulkSettings {
		text := f.Value(name)
		if text == "" {
			continue
		}
		if name == "schedule" {
			if err := s.readSchedule(f.Find(name), text); err != nil {
				return s, err
			}
			continue
		}
		setting := checks.SettingNamed(name)
		value, err := words.Value(setting, text)
		if err != nil {
			return s, err
		}
		setting.Set(&s.Spec, value)
	}
	if s.more, err = typedTags(form, "add_tags"); err != nil {
		return s, err
	}
	if s.without, err = typedTags(form, "drop_tags"); err != nil {
		return s, err
	}
	s.mode, s.chosen = form.Get("channels"), ui.Ticked(form, "channel")
	switch {
	case len(s.chosen) > checks.MaxChannels:
		return s, &checks.FieldError{Field: "channels", Reason: fmt.Sprintf("are too many: the maximum is %d", checks.MaxChannels)}
	case len(s.chosen) > 0 && s.mode == "":
		return s, &checks.FieldError{Field: "channels", Reason: "are ticked: choose what to do with them"}
	case f.Value("schedule") != "" && f.Value("timeout") != "":
		return s, &checks.FieldError{Field: "schedule", Reason: "and interval exclude each other: fill in one"}
	}
	return s, nil
}

// readSchedule reads an expression or words. Words that leave something open are asked about: the field then has their expression.
func (s *bulkChange) readSchedule(field *ui.Field, text string) error {
	p, ok, err := ui.ReadPhrase(text)
	switch {
	case err != nil:
		return err
	case !ok:
		s.Schedule = &text
	case p.Taken != "":
		field.Value = p.Expression
		return &checks.FieldError{Field: "schedule", Reason: p.Read() + " Change again to use it"}
	case p.Every != 0:
		s.Timeout, s.stored = &p.Every, " "+p.Stored()
	default:
		s.Schedule, s.stored = &p.Expression, " "+p.Stored()
	}
	return nil
}

// of returns the change of one check.
func (s bulkChange) of(c checks.Check) checks.Spec {
	spec := s.Spec
	if len(s.more)+len(s.without) > 0 {
		spec.Tags = changedTags(c, s.more, s.without)
	}
	switch s.mode {
	case "add":
		spec.Channels = new(ui.Selection(slices.AppendSeq(ui.ChannelIDs(c), maps.Keys(s.chosen))))
	case "drop":
		spec.Channels = new(ui.Selection(slices.DeleteFunc(ui.ChannelIDs(c), func(id string) bool { return s.chosen[id] })))
	case "set":
		spec.Channels = new(ui.Selection(slices.Collect(maps.Keys(s.chosen))))
	}
	return spec
}
