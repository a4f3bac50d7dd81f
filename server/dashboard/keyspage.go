package dashboard

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

func (d *Dashboard) keyRoutes() {
	d.change("GET /projects/{project}/keys", d.keysPage)
	d.change("POST /projects/{project}/keys", d.createKey)
	d.change("GET /projects/{project}/keys/{key}/revoke", d.revokePage)
	d.change("POST /projects/{project}/keys/{key}/revoke", d.revokeKey)
}

// keysView is the data of the page of keys.
type keysView struct {
	Keys []keyRow
	// Fresh is the text of a key that was just made, or "".
	Fresh         string
	FreshReadOnly bool
	PingBase      string
}

// keyRow is an API key in the list.
type keyRow struct {
	checks.Key
	// Own says that the viewer is signed in with the key.
	Own bool
}

// Kind is what the key allows, in a word.
func (k keyRow) Kind() string {
	if k.ReadOnly {
		return "read-only"
	}
	return "read-write"
}

// keysPage lists the API keys of a project. Only editors see it.
func (d *Dashboard) keysPage(q *request) error {
	return q.showKeys(keysView{})
}

func (q *request) showKeys(view keysView) error {
	list, err := q.mon.Keys(q.ctx(), q.project.ID)
	if err != nil {
		return err
	}
	own := q.ownKeys()
	for _, key := range list {
		view.Keys = append(view.Keys, keyRow{Key: key, Own: slices.Contains(own, key.ID)})
	}
	view.PingBase = q.config.PingBaseURL
	return q.render("keys", "Keys", view)
}

// ownKeys returns the keys that the viewer is signed in with.
func (q *request) ownKeys() []uuid.UUID {
	if q.config.Authorize != nil {
		return nil
	}
	current, err := q.sessions.read(q.r)
	if err != nil {
		return nil
	}
	var ids []uuid.UUID
	for _, ref := range current.keys {
		ids = append(ids, ref.key)
	}
	return ids
}

// createKey makes a key and answers with the page that shows it. It is the only answer that ever does, and browsers do
// not store it.
func (d *Dashboard) createKey(q *request) error {
	if err := q.r.ParseForm(); err != nil {
		return formError(err)
	}
	kind := q.r.PostForm.Get("kind")
	if kind != "read-only" && kind != "read-write" {
		return errBadForm
	}
	text, _, err := q.mon.CreateKey(q.ctx(), q.project.ID, kind == "read-only")
	if err != nil {
		return err
	}
	d.sessions.forget(q.project.ID)
	return q.showKeys(keysView{Fresh: text, FreshReadOnly: kind == "read-only"})
}

// revokeView is the data of the page that asks before a key is revoked.
type revokeView struct {
	keyRow
	// LastEdit says that no other key of the project can edit.
	LastEdit bool
}

func (q *request) findKey() (view revokeView, err error) {
	list, err := q.mon.Keys(q.ctx(), q.project.ID)
	if err != nil {
		return view, err
	}
	i := slices.IndexFunc(list, func(k checks.Key) bool { return k.ID.String() == q.r.PathValue("key") })
	if i < 0 {
		return view, checks.ErrNotFound
	}
	view.Key, view.Own = list[i], slices.Contains(q.ownKeys(), list[i].ID)
	view.LastEdit = !view.ReadOnly && !slices.ContainsFunc(list, func(k checks.Key) bool { return !k.ReadOnly && k.ID != view.ID })
	return view, nil
}

// revokePage asks before a key is revoked.
func (d *Dashboard) revokePage(q *request) error {
	view, err := q.findKey()
	if err != nil {
		return err
	}
	return q.render("keyrevoke", "Revoke a key", view)
}

func (d *Dashboard) revokeKey(q *request) error {
	view, err := q.findKey()
	if err != nil {
		return err
	}
	if err := q.mon.RevokeKey(q.ctx(), q.project.ID, view.ID); err != nil {
		return err
	}
	d.sessions.forget(q.project.ID)
	q.notice(fmt.Sprintf("Revoked the %s key %s….", view.Kind(), view.Hint))
	return q.redirect("/projects/%s/keys", q.project.ID)
}
