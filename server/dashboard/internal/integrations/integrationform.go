package integrations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// integrationForm is the data of the page that makes or changes an integration.
type integrationForm struct {
	integration
	// New says that the integration does not exist yet.
	New bool
	// Closed says why the settings cannot be changed here, or "".
	Closed string
	// Doc says what the kind does, and Setup where its secrets come from.
	Doc, Setup string
	Form       ui.Form
	Fields     []field // the settings, with what the form has not
	// Warning says what is likely to go wrong with the stored settings.
	Warning string
	// Secrets are those that were typed, encrypted; see [secrets]. It is "" for a script of ours, which keeps the fields.
	Secrets string
	// AllChecks counts the checks of the project.
	AllChecks int
	// Use is the choice which checks use a new integration.
	Use  useChoice
	Test *testResult
	// Preview is what the integration would send for a check that goes down, or "".
	Preview preview
}

// Main are the fields that the form shows: those of settings that are required or primary, or else the first one.
func (v integrationForm) Main() (list []field) {
	for _, f := range v.Fields {
		if f.main() {
			list = append(list, f)
		}
	}
	if list == nil && len(v.Fields) > 0 {
		list = v.Fields[:1]
	}
	return list
}

// Advanced are the other fields.
func (v integrationForm) Advanced() (list []field) {
	main := v.Main()
	for _, f := range v.Fields {
		if !slices.ContainsFunc(main, func(m field) bool { return m.Name == f.Name }) {
			list = append(list, f)
		}
	}
	return list
}

// Opened reports whether something is wrong with an advanced field.
func (v integrationForm) Opened() bool {
	return slices.ContainsFunc(v.Advanced(), func(f field) bool { return v.Form.Field(f.Input()).Error != "" })
}

// Values says in short what the advanced fields have: "method down POST, headers down set".
func (v integrationForm) Values() string {
	var texts []string
	for _, f := range v.Advanced() {
		value := cmp.Or(v.Form.Value(f.Input()), f.Default)
		switch {
		case f.Source != "":
			value = "from " + f.Source
		case f.Secret && (f.Stored && !f.Clear || f.Typed):
			value = "set"
		case value != "":
			value = words.Cut(prose.Line(f.Option(value), maxValue+1), maxValue)
		}
		if value != "" {
			texts = append(texts, ui.SettingNoun(f.Name)+" "+value)
		}
	}
	return cmp.Or(strings.Join(texts, ", "), "nothing set")
}

// maxValue bounds a value of [integrationForm.Values], in characters.
const maxValue = 24

// newForm returns the form of a channel without its settings.
func newForm(c channels.Channel) ui.Form {
	return ui.Form{Title: "Not saved", Fields: []ui.Field{{
		Name: "name", Label: "Name", Called: "The name", Hint: "Display name, such as “on call”. If unique, it also works in the API.", Value: c.Name, Attrs: `maxlength="100"`,
	}}}
}

// newIntegrationPage lets the viewer choose a kind, or shows the form of the chosen one.
func newIntegrationPage(q *ui.Request) error {
	kind := channels.Kind(q.R.URL.Query().Get("kind"))
	if kind == "" {
		return q.Render("integrationkinds", "New integration", kindChoices(q, q.R.URL.Query().Get("q")))
	}
	view, err := blankForm(q, kind)
	if err != nil {
		return err
	}
	return showForm(q, http.StatusOK, view)
}

// blankForm returns the form for a new channel of a kind that pages may make.
func blankForm(q *ui.Request, kind channels.Kind) (view integrationForm, err error) {
	info, ok := q.Mon.Kind(kind)
	if !ok {
		return integrationForm{}, checks.ErrNotFound
	}
	if !mayMake(q, info) {
		return integrationForm{}, ui.ErrForbidden
	}
	view = integrationForm{integration: integrationOf(q, channels.Channel{Kind: kind}), New: true, Doc: inLabels(info, info.Doc), Setup: info.Setup, Form: newForm(channels.Channel{})}
	view.ID = uuid.New()
	if view.Use, err = useOf(q, q.R.PostForm); err != nil {
		return view, err
	}
	view.AllChecks, view.Preview = view.Use.total, previewOf(q, info, channels.Channel{Kind: kind})
	err = view.addFields(q, info, channels.Channel{Kind: kind})
	view.Form.Fields = append(view.Form.Fields, ui.Field{Name: "use"})
	return view, err
}

// formOf returns the page of a channel.
func formOf(q *ui.Request, c channels.Channel) (integrationForm, error) {
	list, _, err := integrations(q)
	if err != nil {
		return integrationForm{}, err
	}
	i := slices.IndexFunc(list, func(row integration) bool { return row.ID == c.ID })
	if i < 0 {
		return integrationForm{}, checks.ErrNotFound
	}
	all, err := q.Mon.Project(q.Project.ID).Count(q.Ctx(), checks.ListQuery{})
	if err != nil {
		return integrationForm{}, err
	}
	info, known := q.Mon.Kind(c.Kind)
	view := integrationForm{integration: list[i], Form: newForm(c), AllChecks: all.Total()}
	view.Form.Was = fingerprint(info, c)
	switch {
	case !known:
		view.Closed = "This server does not know this kind, so its settings cannot be changed here."
		return view, nil
	case !mayMake(q, info):
		view.Closed = "Integrations of this kind are changed on the server, with rollcall apply, or created again with rollcall channel create."
	}
	view.Doc, view.Setup, view.Preview = inLabels(info, info.Doc), info.Setup, previewOf(q, info, c)
	if info.Warn != nil {
		if w := info.Warn(c.Settings); w != nil {
			view.Warning = inLabels(info, w.Setting+" "+w.Reason+".")
		}
	}
	err = view.addFields(q, info, c)
	return view, err
}

func integrationPage(q *ui.Request) error {
	c, err := channel(q)
	if err != nil {
		return err
	}
	view, err := formOf(q, c)
	if err != nil {
		return err
	}
	return showForm(q, http.StatusOK, view)
}

func showForm(q *ui.Request, status int, view integrationForm) error {
	if err := view.hold(q); err != nil {
		return err
	}
	title := view.Name
	if view.New {
		title = "New integration: " + view.Title
	}
	return q.RenderStatus(status, "integration", title, view)
}

// createIntegration makes a channel.
func createIntegration(q *ui.Request) error {
	form := q.R.PostForm
	view, err := blankForm(q, channels.Kind(q.R.URL.Query().Get("kind")))
	if err != nil {
		return err
	}
	if id, err := uuid.Parse(form.Get("id")); err == nil {
		view.ID = id
	}
	view.typed(q, form)
	c := channels.Channel{ID: view.ID, ProjectID: q.Project.ID, Kind: channels.Kind(view.Kind), Name: view.Form.Value("name"), Settings: settingsOf(view.Fields, form)}
	info, _ := q.Mon.Kind(c.Kind)
	view.Preview = previewOf(q, info, c)
	switch form.Get("action") {
	case "test":
		return testTyped(q, view, form, c)
	case "preview":
		return showForm(q, http.StatusOK, view)
	}
	if view.Form.Wrong("use", view.Use.Problem); view.Form.Refused() {
		return showForm(q, http.StatusBadRequest, view)
	}
	_, err = q.Mon.Project(q.Project.ID).CreateChannel(q.Ctx(), c)
	if err != nil && !errors.Is(err, checks.ErrExists) { // the form was sent twice
		return refuse(q, view, form, err)
	}
	chosen, err := view.Use.chosen(q, c.ID)
	if err != nil {
		return err
	}
	o, err := use(q, c.ID, chosen)
	if err != nil {
		return err // the form can be sent again
	}
	text := fmt.Sprintf("%s created, used by %s.%s Send a test alert to check that it works.", words.Short(ui.ChannelName(c)), prose.Count(o.Done, "check"), o.Rest())
	if o.Done == 0 {
		text = fmt.Sprintf("%s created. No check uses it yet, so it alerts nobody. Send a test alert to check that it works.", words.Short(ui.ChannelName(c)))
	}
	if err := q.NoticeUndo(text, o.Undo); err != nil {
		return err
	}
	return q.Redirect("/projects/%s/integrations/%s", q.Project.ID, c.ID)
}

// saveIntegration changes a channel, or tests it. Both have the address of the page, so that a script can get the page again.
func saveIntegration(q *ui.Request) error {
	form := q.R.PostForm
	c, err := channel(q)
	if err != nil {
		return err
	}
	view, err := formOf(q, c)
	if err != nil {
		return err
	}
	testing, previewing := form.Get("action") == "test", form.Get("action") == "preview"
	if testing && (view.Closed != "" || !form.Has("name")) {
		return showTest(q, view, func(ctx context.Context) error { return q.Mon.Project(q.Project.ID).TestChannel(ctx, c.ID) })
	}
	if view.Closed != "" {
		return ui.ErrForbidden
	}
	view.typed(q, form)
	info, _ := q.Mon.Kind(c.Kind)
	typed := func(c channels.Channel) (channels.Channel, error) {
		if err := view.Form.Conflict(fingerprint(info, c)); err != nil && !testing && !previewing { // it matters when the form is saved
			return c, err
		}
		settings, err := merge(info, c, settingsOf(view.Fields, form), func(name string) bool { return form.Get("clear."+name) != "" })
		c.Name, c.Settings = view.Form.Value("name"), settings
		return c, err
	}
	if testing || previewing {
		if c, err = typed(c); err != nil {
			return refuse(q, view, form, err)
		}
		if view.Preview = previewOf(q, info, c); previewing {
			return showForm(q, http.StatusOK, view)
		}
		return testTyped(q, view, form, c)
	}
	_, err = q.Mon.Project(q.Project.ID).UpdateChannel(q.Ctx(), c.ID, typed)
	if err != nil {
		return refuse(q, view, form, err)
	}
	q.Notice("Saved.")
	return q.Redirect("/projects/%s/integrations/%s", q.Project.ID, c.ID)
}

// fingerprint returns a text that changes with what a form shows of a channel.
func fingerprint(info channels.Type, c channels.Channel) string {
	shown := []string{c.Name}
	for _, s := range info.AllSettings() {
		if !s.Secret {
			shown = append(shown, s.Name, c.Settings[s.Name])
		}
	}
	return ui.Fingerprint(shown...)
}

// secrets are those that a viewer typed into a form that was not saved. The page holds them, encrypted, until the form is sent
// again for the same integration.
type secrets struct {
	ID    uuid.UUID // of the integration
	Kind  string
	Until time.Time
	Typed map[string]string
}

// secretsAge is how long a page can hold secrets.
const secretsAge = time.Hour

// secretsOf is the purpose of secrets that a page holds: nobody else can use them.
func secretsOf(q *ui.Request) string {
	return "secrets " + q.Viewer()
}

// hold encrypts the typed secrets of the request into the page.
func (v *integrationForm) hold(q *ui.Request) error {
	typed := map[string]string{}
	for _, f := range v.Fields {
		if value := q.R.PostForm.Get("s." + f.Name); f.Secret && f.Source == "" && !f.Clear && value != "" && !q.Fetches() {
			typed[f.Name] = value
			v.Form.Find(f.Input()).Attrs = plainInput + ` placeholder="typed; leave empty to keep"`
		}
	}
	if len(typed) == 0 {
		return nil
	}
	if v.Form.Refused() {
		v.Form.Problem = strings.TrimSpace(v.Form.Problem + " The secrets that you typed are kept.")
	}
	text, err := json.Marshal(secrets{v.ID, string(v.Kind), q.Mon.Now().Add(secretsAge), typed})
	if err != nil {
		return err
	}
	v.Secrets, err = q.Seals.Hide(q.Ctx(), secretsOf(q), text)
	return err
}

// reveal puts the secrets that the page held into fields of its form that are empty.
func (v *integrationForm) reveal(q *ui.Request, form url.Values) {
	var held secrets
	text, err := q.Seals.Reveal(q.Ctx(), secretsOf(q), form.Get("secrets"))
	if err != nil || json.Unmarshal(text, &held) != nil || held.ID != v.ID || held.Kind != string(v.Kind) || q.Mon.Now().After(held.Until) {
		return // they must be typed again
	}
	for name, value := range held.Typed {
		if form.Get("s."+name) == "" && form.Get("clear."+name) == "" {
			form.Set("s."+name, value)
		}
	}
}

// typed puts what the viewer typed into the form, except secrets.
func (v *integrationForm) typed(q *ui.Request, form url.Values) {
	v.reveal(q, form)
	v.Form.Read(form)
	if form.Get("action") == "test" {
		v.Form.Title = "Not sent"
	}
	members := ui.Ticked(form, "member")
	for i := range v.Fields {
		f := &v.Fields[i]
		f.Clear, f.Typed = f.Secret && form.Get("clear."+f.Name) != "", form.Get("s."+f.Name) != ""
		for j := range f.Members {
			f.Members[j].Selected = members[f.Members[j].Value]
		}
	}
}

// refuse shows the form again with what is wrong. No secret is in the answer.
func refuse(q *ui.Request, view integrationForm, form url.Values, err error) error {
	var secrets []string
	for _, f := range view.Fields {
		if f.Secret {
			secrets = append(secrets, form.Get("s."+f.Name))
		}
	}
	shown := func(text string) string { return channels.Redact(text, secrets...) }
	if lacking, ok := errors.AsType[*channels.NotConfiguredError](err); ok {
		view.Form.Problem = words.Sentence(lacks(lacking))
	} else if setting, ok := errors.AsType[*channels.SettingError](err); ok {
		info, _ := q.Mon.Kind(channels.Kind(view.Kind))
		if field := view.Form.Find("s." + setting.Setting); field != nil {
			field.Error = shown(field.Label + " " + inLabels(info, setting.Reason) + ".")
		} else {
			view.Form.Problem = shown(words.Sentence(setting.Error()))
		}
	} else if named, ok := errors.AsType[*checks.FieldError](err); ok {
		err = &checks.FieldError{Field: named.Field, Reason: shown(named.Reason)}
	}
	status := view.Form.Refuse(err)
	if !view.Form.Refused() {
		return err
	}
	return showForm(q, cmp.Or(status, http.StatusBadRequest), view)
}

// merge returns the settings of a channel after a change. Values from a source stay. The error is a *[channels.SettingError]
// in the words of the form.
func merge(info channels.Type, c channels.Channel, wanted map[string]string, cleared func(name string) bool) (map[string]string, error) {
	settings, err := info.Merge(c, wanted, func(name string) bool { return c.Sources[name] == "" && cleared(name) })
	kept, ok := errors.AsType[*channels.KeptError](err)
	switch {
	case !ok:
		return settings, err
	case kept.Source != "":
		return nil, &channels.SettingError{Kind: info.Kind, Setting: kept.Moved,
			Reason: fmt.Sprintf("cannot change here, because %s comes from %s; change both in the file for rollcall apply", ui.SettingLabel(kept.Kept), kept.Source)}
	}
	return nil, &channels.SettingError{Kind: info.Kind, Setting: kept.Kept,
		Reason: fmt.Sprintf("must be typed again, because %s changes: it could send the stored value elsewhere", ui.SettingLabel(kept.Moved))}
}
