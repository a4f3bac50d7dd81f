package project

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// statusPageRow is a status page in the list.
type statusPageRow struct {
	checks.StatusPage
	Address string
	Shown   int // how many checks it shows
}

// statusPagesPage lists the status pages of a project.
func statusPagesPage(q *ui.Request) error {
	pages, err := q.Mon.Project(q.Project.ID).StatusPages(q.Ctx())
	if err != nil {
		return err
	}
	sets, err := q.Mon.Project(q.Project.ID).TagSets(q.Ctx(), nil)
	if err != nil {
		return err
	}
	rows := make([]statusPageRow, len(pages))
	for i, p := range pages {
		rows[i] = statusPageRow{StatusPage: p, Address: statusAddress(q, p.Slug), Shown: shownBy(p, sets)}
	}
	return q.Render("statuspages", "Status pages", struct {
		Rows  []statusPageRow
		Total int
	}{rows, checks.CountAll(sets).Total()})
}

// statusAddress is the public address of a status page.
func statusAddress(q *ui.Request, slug string) string { return q.URL + "/status/" + slug }

// shownBy counts the checks that a status page shows.
func shownBy(p checks.StatusPage, sets []checks.TagSet) (n int) {
	for _, set := range sets {
		if p.Shows(checks.Settings{Tags: set.Tags}) {
			n += set.Total()
		}
	}
	return n
}

// statusPageForm is the form of a status page, with what was typed.
type statusPageForm struct {
	checks.StatusPage
	Form    ui.Form
	New     bool
	saved   string // the slug of the saved page
	Address string // of the saved page; of any page up to its slug on a new one
	// AllChecks says that the page shows all checks, and Choices are the tags to choose from.
	AllChecks bool
	Choices   []tagChoice
	// Shown are the checks that the page would show, at most shownRows of ShownCount, out of Total.
	Shown             []shownCheck
	ShownCount, Total int
}

// shownCheck is a check that the page would show, with its public name if it has one.
type shownCheck struct {
	ui.Row
	Public string
	Input  ui.Field // of the public name
}

// tagChoice is a tag with the number of checks that have it.
type tagChoice struct {
	Tag      string
	Count    int
	Selected bool
}

// shownRows is how many checks the preview of a status page names.
const shownRows = 200

// More counts the checks that the preview does not name.
func (f statusPageForm) More() int { return f.ShownCount - len(f.Shown) }

// newStatusPagePage shows the form of a new status page.
func newStatusPagePage(q *ui.Request) error {
	return showStatusPageForm(q, http.StatusOK, statusPageFormOf(checks.StatusPage{MinOutage: time.Minute}, true))
}

// statusPage returns the status page that the path names.
func statusPage(q *ui.Request) (checks.StatusPage, error) {
	id, err := uuid.Parse(q.R.PathValue("page"))
	if err != nil {
		return checks.StatusPage{}, checks.ErrNotFound
	}
	p, err := q.Mon.Projects().StatusPage(q.Ctx(), id)
	if err == nil && p.ProjectID != q.Project.ID {
		err = checks.ErrNotFound
	}
	return p, err
}

// statusPagePage shows the form of a status page.
func statusPagePage(q *ui.Request) error {
	p, err := statusPage(q)
	if err != nil {
		return err
	}
	return showStatusPageForm(q, http.StatusOK, statusPageFormOf(p, false))
}

// statusPageFormOf returns the form of a status page as it is stored.
func statusPageFormOf(p checks.StatusPage, fresh bool) *statusPageForm {
	f := &statusPageForm{StatusPage: p, New: fresh, saved: p.Slug, AllChecks: !fresh && len(p.Tags) == 0}
	slug := "The last part of the URL: a–z, 0–9 and hyphens. Leave empty to derive it from the title."
	if !fresh {
		slug += " Changing it breaks links to the page."
		f.Form.Was = fingerprint(p)
	}
	f.Form.Title, f.Form.Fields = "Not saved", []ui.Field{
		{Name: "title", Label: "Title", Called: "The title", Hint: "The heading visitors see, such as “Acme status”.", Value: p.Title, Attrs: `maxlength="200" required`},
		{Name: "slug", Label: "Address", Called: "The address", Taken: "Another status page uses this URL.", Hint: slug, Value: p.Slug, Attrs: `maxlength="200" spellcheck="false" autocapitalize="none"`},
		{Name: "description", Label: "Description", Called: "The description", Hint: "Optional, shown below the title: what this page covers, and who to contact.", Rows: 3, Value: p.Description, Attrs: `maxlength="2000"`},
		{Name: "min_outage", Label: "Publish outages from", Called: "The least duration", Hint: "Shorter outages are not listed, and count as up. 0 publishes every outage.",
			Value: words.SpellPeriod(p.MinOutage), Attrs: `maxlength="40" class="short"`},
		{Name: "tags", Called: "The list of tags"}, {Name: "names", Called: "A public name"},
	}
	return f
}

// saveStatusPage adds or changes a status page, or shows what it would show.
func saveStatusPage(q *ui.Request) (err error) {
	var stored checks.StatusPage
	fresh := q.R.PathValue("page") == "new"
	if !fresh {
		if stored, err = statusPage(q); err != nil {
			return err
		}
	}
	form := statusPageFormOf(stored, fresh)
	form.read(q)
	preview := q.R.PostForm.Has("preview")
	if !preview && !form.Form.Refused() && !form.AllChecks && len(form.Tags) == 0 {
		form.Form.Wrong("tags", "Choose a tag, or all checks.")
	}
	switch {
	case form.Form.Refused():
		return showStatusPageForm(q, http.StatusBadRequest, form)
	case preview:
		return showStatusPageForm(q, http.StatusOK, form)
	}
	project, done := q.Mon.Project(form.ProjectID), "Saved "
	saved := form.StatusPage
	if fresh {
		done = "Published "
		saved, err = project.CreateStatusPage(q.Ctx(), saved)
	} else if err = form.Form.Conflict(fingerprint(stored)); err == nil {
		saved, err = project.UpdateStatusPage(q.Ctx(), saved)
	}
	if status := form.Form.Refuse(err); status != 0 {
		return showStatusPageForm(q, status, form)
	}
	if err != nil {
		return err
	}
	q.Config.RefreshStatusPages()
	q.Notice(done + words.Short(words.Name(saved.Title, "it")) + ". Anyone can view it at " + statusAddress(q, saved.Slug))
	return q.Redirect("/projects/%s/status", q.Project.ID)
}

func fingerprint(p checks.StatusPage) string {
	texts := []string{p.Slug, p.Title, p.Description, p.MinOutage.String(), strings.Join(p.Tags, " ")}
	for _, id := range p.Named() {
		texts = append(texts, id.String(), p.Names[id])
	}
	return ui.Fingerprint(texts...)
}

// read takes over what was typed.
func (f *statusPageForm) read(q *ui.Request) {
	f.Form.Read(q.R.PostForm)
	f.ProjectID = q.Project.ID
	slug := f.Form.Find("slug")
	slug.Value = cmp.Or(slug.Value, slugOf(f.Form.Value("title")))
	f.Title, f.Description, f.Slug = f.Form.Value("title"), f.Form.Value("description"), slug.Value
	f.readNames(q.R.PostForm)
	f.readMinOutage()
	if f.AllChecks, f.Tags = q.R.PostForm.Get("scope") == "all", nil; f.AllChecks {
		return
	}
	if tags := q.R.PostForm["tag"]; f.Form.Refuse((checks.Spec{Tags: tags}).Validate(q.Mon.Now())) == 0 {
		f.Tags = tags
	}
}

// publicName begins the name of the input for the public name of a check, before its UUID.
const publicName = "name-"

// readNames takes over the public names that were typed. Those of checks that the form did not list stay.
func (f *statusPageForm) readNames(typed url.Values) {
	if f.Names = maps.Clone(f.Names); f.Names == nil {
		f.Names = make(map[uuid.UUID]string)
	}
	for input, values := range typed {
		text, found := strings.CutPrefix(input, publicName)
		if id, err := uuid.Parse(text); found && err == nil {
			f.Names[id] = strings.TrimSpace(values[0])
			f.refuseName(input, id)
		}
	}
}

// refuseName says at its input what is wrong with a public name.
func (f *statusPageForm) refuseName(input string, id uuid.UUID) {
	alone := checks.StatusPage{Slug: "x", Title: "x", Names: map[uuid.UUID]string{id: f.Names[id]}}
	if _, err := alone.Normalize(); err != nil {
		field := ui.Form{Fields: []ui.Field{{Name: input, Setting: "names", Called: "A public name", Value: f.Names[id]}}}
		field.Refuse(err)
		f.Form.Fields = append(f.Form.Fields, field.Fields...)
	}
}

// readMinOutage takes over the least duration of an outage. Nothing and 0 stand for every outage.
func (f *statusPageForm) readMinOutage() {
	text, longest := f.Form.Value("min_outage"), time.Duration(checks.MinOutageSetting().Max)*time.Second
	if f.MinOutage = 0; text == "" || text == "0" {
		return
	}
	d, err := words.ParsePeriod(text)
	if err == nil && d > longest {
		err = errors.New("is too long: " + words.SpellPeriod(d) + ", the maximum is " + words.SpellPeriod(longest))
	}
	if err != nil {
		f.Form.Wrong("min_outage", "The least duration "+err.Error()+".")
		return
	}
	f.MinOutage = d
}

// slugOf makes a slug from a title: "Acme & Sons" becomes "acme-sons".
func slugOf(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	slug := strings.Join(words, "-")
	return strings.Trim(slug[:min(len(slug), checks.MaxStatusPageSlug)], "-")
}

// showStatusPageForm shows the form with the tags to choose from and a preview.
func showStatusPageForm(q *ui.Request, status int, f *statusPageForm) error {
	sets, err := q.Mon.Project(q.Project.ID).TagSets(q.Ctx(), nil)
	if err != nil {
		return err
	}
	f.Address = statusAddress(q, f.saved)
	f.Choices = tagChoices(sets, f.Tags)
	f.Total = checks.CountAll(sets).Total()
	if f.AllChecks || len(f.Tags) > 0 {
		if err := f.preview(q, shownBy(f.StatusPage, sets)); err != nil {
			return err
		}
	}
	f.sayHidden()
	title := "New status page"
	if !f.New {
		title = "Status page"
	}
	return q.RenderStatus(status, "statuspage", title, f)
}

// sayHidden says above the form what is wrong with the public name of a check that the preview does not show.
func (f *statusPageForm) sayHidden() {
	for i := range f.Form.Fields {
		field := &f.Form.Fields[i]
		shown := func(c shownCheck) bool { return c.Input.Name == field.Name }
		if strings.HasPrefix(field.Name, publicName) && !slices.ContainsFunc(f.Shown, shown) {
			f.Form.Problem, field.Error = field.Error, ""
		}
	}
}

// preview names the first checks that the page would show.
func (f *statusPageForm) preview(q *ui.Request, count int) error {
	f.ShownCount = count
	now := q.Mon.Now()
	for c, err := range q.Mon.Project(q.Project.ID).EachCheck(q.Ctx(), checks.Query{}) {
		if err != nil {
			return err
		}
		if f.Shows(c.Settings) {
			input := ui.Field{Name: publicName + c.ID.String()}
			if typed := f.Form.Find(input.Name); typed != nil {
				input = *typed
			}
			f.Shown = append(f.Shown, shownCheck{ui.RowOf(*c.Check, now, q.Clock().Zone), f.Names[c.ID], input})
		}
		if len(f.Shown) >= min(count, shownRows) {
			break
		}
	}
	f.ShownCount = max(count, len(f.Shown)) // one may be new
	return nil
}

// tagChoices returns the tags of checks and the selected ones, sorted.
func tagChoices(sets []checks.TagSet, selected []string) (choices []tagChoice) {
	counts, chosen := map[string]int{}, map[string]bool{}
	for tag, of := range checks.CountByTag(sets) {
		counts[tag] = of.Total()
	}
	for _, tag := range selected {
		counts[tag] += 0 // no check has it any more
		chosen[tag] = true
	}
	for tag, n := range counts {
		choices = append(choices, tagChoice{tag, n, chosen[tag]})
	}
	slices.SortStableFunc(choices, func(a, b tagChoice) int { return strings.Compare(a.Tag, b.Tag) })
	return choices
}

// deleteStatusPagePage asks before a status page is deleted.
func deleteStatusPagePage(q *ui.Request) error {
	p, err := statusPage(q)
	if err != nil {
		return err
	}
	return q.Render("statuspagedelete", "Delete a status page", statusPageRow{StatusPage: p, Address: statusAddress(q, p.Slug)})
}

// deleteStatusPage deletes a status page.
func deleteStatusPage(q *ui.Request) error {
	id, err := uuid.Parse(q.R.PathValue("page"))
	if err != nil {
		return checks.ErrNotFound
	}
	if err := q.Mon.Project(q.Project.ID).DeleteStatusPage(q.Ctx(), id); err != nil {
		return err
	}
	q.Config.RefreshStatusPages()
	q.Notice("Status page deleted. Its URL no longer works.")
	return q.Redirect("/projects/%s/status", q.Project.ID)
}
