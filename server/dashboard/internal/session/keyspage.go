package session

import (
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

func (s *Sessions) keyRoutes() {
	s.site.Own("GET /projects/{project}/keys", ui.Recent(s.keysPage)) // it shows the ping key
	s.site.Own("POST /projects/{project}/keys", s.createKey)
	s.site.Own("GET /projects/{project}/keys/{key}/revoke", s.revokePage)
	s.site.Own("POST /projects/{project}/keys/{key}/revoke", s.revokeKey)
	s.site.Own("GET /projects/{project}/ping-key", s.rotatePage)
	s.site.Own("POST /projects/{project}/ping-key", s.rotatePingKey)
}

// keysView is the data of the page of keys.
type keysView struct {
	Keys []keyRow
	// Fresh is the text of a key that was just made, or "".
	Fresh      string
	FreshScope checks.Scope
	FreshUntil time.Time
	Form       ui.Form
	Scopes     []ui.Choice
	PingBase   string
}

// scopeHints say what a key of a scope can do.
var scopeHints = map[checks.Scope]string{
	checks.ReadWrite: "views and edits checks; integrations and status pages only on these pages", checks.ReadOnly: "views, without UUIDs and ping URLs",
	checks.ReadIDs: "views, with UUIDs and ping URLs through the API", checks.Admin: "everything in the project, keys too",
}

// keyRow is an API key in the list.
type keyRow struct {
	checks.Key
	// Own says that the viewer is signed in with the key.
	Own bool
}

// keysPage lists the API keys of a project. Only owners see it.
func (s *Sessions) keysPage(q *ui.Request) error {
	return s.showKeys(q, http.StatusOK, keysView{Form: keyForm(q)})
}

// keyForm is the form of a new key, which does not expire before today.
func keyForm(q *ui.Request) ui.Form {
	today := q.Mon.Now().In(q.Clock().Zone).Format(time.DateOnly)
	return ui.Form{Fields: []ui.Field{{
		Name: "expires", Label: "Expires", Called: "The last day", Optional: true, Type: "date", Attrs: template.HTMLAttr(`min="` + today + `"`),
		Hint: "The last day on which the key works. Without a date, it works until you revoke it. You are warned a week before.",
	}}}
}

func (s *Sessions) showKeys(q *ui.Request, status int, view keysView) error {
	list, err := q.Mon.Project(q.Project.ID).Keys(q.Ctx())
	if err != nil {
		return err
	}
	own := s.ownKeys(q)
	for _, key := range list {
		view.Keys = append(view.Keys, keyRow{Key: key, Own: slices.Contains(own, key.ID)})
	}
	for i, scope := range checks.Scopes() {
		kind := q.R.PostForm.Get("kind")
		view.Scopes = append(view.Scopes, ui.Choice{Value: string(scope), Hint: scopeHints[scope], Selected: kind == string(scope) || kind == "" && i == 0})
	}
	view.PingBase = q.Config.PingBaseURL
	return q.RenderStatus(status, "keys", "Keys", view)
}

// ownKeys returns the keys that the viewer is signed in with.
func (s *Sessions) ownKeys(q *ui.Request) []uuid.UUID {
	if len(q.Access.Keys) == 0 {
		return nil
	}
	current, err := s.Current(q.R)
	if err != nil {
		return nil
	}
	var ids []uuid.UUID
	for _, ref := range current.Keys {
		ids = append(ids, ref.Key)
	}
	return ids
}

// createKey makes a key and answers with the page that shows it. It is the only answer that ever does, and browsers do
// not store it. A form without a kind comes from who had to confirm before the page of keys.
func (s *Sessions) createKey(q *ui.Request) error {
	if !q.R.PostForm.Has("kind") {
		return q.Redirect("/projects/%s/keys", q.Project.ID)
	}
	form := keyForm(q)
	form.Read(q.R.PostForm)
	scope := checks.Scope(q.R.PostForm.Get("kind"))
	if !slices.Contains(checks.Scopes(), scope) {
		return ui.ErrBadForm
	}
	expires, err := endOf(form.Value("expires"), q.Clock().Zone)
	text := ""
	if err == nil {
		text, _, err = q.Mon.Project(q.Project.ID).CreateKeyUntil(q.Ctx(), scope, expires)
	}
	if status := form.Refuse(err); status != 0 {
		return s.showKeys(q, status, keysView{Form: form})
	}
	if err != nil {
		return err
	}
	return s.showKeys(q, http.StatusOK, keysView{Fresh: text, FreshScope: scope, FreshUntil: expires, Form: keyForm(q)})
}

// endOf returns the last second of a day as browsers send it, or the zero time for "".
func endOf(day string, zone *time.Location) (time.Time, error) {
	if day == "" {
		return time.Time{}, nil
	}
	begin, err := time.ParseInLocation(time.DateOnly, day, zone)
	if err != nil {
		return time.Time{}, &checks.FieldError{Field: "expires", Reason: "must be a date such as 2027-03-31"}
	}
	return begin.AddDate(0, 0, 1).Add(-time.Second), nil
}

// revokeView is the data of the page that asks before a key is revoked.
type revokeView struct {
	keyRow
	// LastAdmin says that no other key owns the project.
	LastAdmin bool
}

func (s *Sessions) findKey(q *ui.Request) (view revokeView, err error) {
	list, err := q.Mon.Project(q.Project.ID).Keys(q.Ctx())
	if err != nil {
		return view, err
	}
	i := slices.IndexFunc(list, func(k checks.Key) bool { return k.ID.String() == q.R.PathValue("key") })
	if i < 0 {
		return view, checks.ErrNotFound
	}
	view.Key, view.Own = list[i], slices.Contains(s.ownKeys(q), list[i].ID)
	now := q.Mon.Now()
	view.LastAdmin = view.Scope.Right().Owns() && !view.Expired(now) && !slices.ContainsFunc(list, func(k checks.Key) bool {
		return k.Scope.Right().Owns() && k.ID != view.ID && !k.Expired(now)
	})
	return view, nil
}

// revokePage asks before a key is revoked.
func (s *Sessions) revokePage(q *ui.Request) error {
	view, err := s.findKey(q)
	if err != nil {
		return err
	}
	return q.Render("keyrevoke", "Revoke a key", view)
}

func (s *Sessions) revokeKey(q *ui.Request) error {
	view, err := s.findKey(q)
	if err != nil {
		return err
	}
	if err := q.Mon.Project(q.Project.ID).DeleteKey(q.Ctx(), view.ID); err != nil {
		return err
	}
	q.Notice(fmt.Sprintf("Revoked the %s key %s….", view.Scope, view.Hint))
	return q.Redirect("/projects/%s/keys", q.Project.ID)
}

// rotatePage asks before the ping key is replaced.
func (s *Sessions) rotatePage(q *ui.Request) error {
	return q.Render("keyrotate", "Replace the ping key", nil)
}

func (s *Sessions) rotatePingKey(q *ui.Request) error {
	if _, err := q.Mon.Projects().RotatePingKey(q.Ctx(), q.Project.ID); err != nil {
		return err
	}
	q.Notice("Replaced the ping key. The old one is refused.")
	return q.Redirect("/projects/%s/keys", q.Project.ID)
}
