package session

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/internal/sessions"
)

// linkAge is how long a link of [Sessions.Link] can be used.
const linkAge = 24 * time.Hour

// errUsedLink is the error of a link that has signed a person in before, or is too old.
var errUsedLink = errors.New("the link has expired or was already used")

// SignInRoutes adds the pages that sign in with a key and sign out, for a site without accounts.
func (s *Sessions) SignInRoutes() {
	s.site.Authorize, s.site.Recheck, s.site.Prover = s.access, Recheck, s
	s.site.Public("GET /signin", s.signInPage)
	s.site.Public("POST /signin", s.SignIn)
	s.site.Public("GET /signin/{link}", s.UseLink)
	s.site.Public("POST /signout", s.SignOut)
}

// Link returns an address that signs one person in, once and within [linkAge], as the API key with this
// text would. The session ends when the key is revoked. The error is [checks.ErrNotFound] for a text that is no key of a
// project.
func (s *Sessions) Link(ctx context.Context, key string) (string, error) {
	found, err := s.site.Mon.Projects().Authenticate(ctx, key)
	if err == nil && found.ProjectID == uuid.Nil {
		err = checks.ErrNotFound
	}
	if err != nil {
		return "", err
	}
	body := binary.BigEndian.AppendUint64(nil, uint64(s.site.Mon.Now().Add(linkAge).Unix()))
	body = append(append(body, found.ProjectID[:]...), found.ID[:]...)
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // never fails
	sealed, err := s.site.Seals.Seal(ctx, "link", append(body, nonce...))
	if err != nil {
		return "", err
	}
	return s.site.URL + "/signin/" + sealed, nil
}

// UseLink signs in by a link, unless a browser only fetches it ahead of a click.
func (s *Sessions) UseLink(q *ui.Request) error {
	if strings.Contains(q.R.Header.Get("Sec-Purpose"), "prefetch") || q.R.Method != http.MethodGet {
		q.W.WriteHeader(http.StatusNoContent)
		return nil
	}
	key, err := s.takeLink(q.Ctx(), q.R.PathValue("link"))
	switch {
	case errors.Is(err, errUsedLink), errors.Is(err, server.ErrSignedOut), errors.Is(err, checks.ErrNotFound):
		s.LogRefusal(q, "refused a sign-in", "used, expired or unknown link")
		return s.AskToSignIn(q, http.StatusForbidden, SignIn{Problem: "This link has expired or was already used. Sign in with an API key."})
	case err != nil:
		return err
	}
	if err := s.startWith(q, key); err != nil {
		return err
	}
	return q.Redirect("/projects/%s/overview", key.ProjectID)
}

// takeLink uses a link up and returns its key.
func (s *Sessions) takeLink(ctx context.Context, link string) (checks.Key, error) {
	body, err := s.site.Seals.Open(ctx, "link", link)
	if err != nil {
		return checks.Key{}, err
	}
	if len(body) != 8+16+16+16 || s.site.Mon.Now().Unix() >= int64(binary.BigEndian.Uint64(body)) {
		return checks.Key{}, errUsedLink
	}
	keys, err := s.site.Mon.Project(uuid.UUID(body[8:24])).Keys(ctx)
	if err != nil {
		return checks.Key{}, err
	}
	i := slices.IndexFunc(keys, func(k checks.Key) bool { return k.ID == uuid.UUID(body[24:40]) })
	if i < 0 || keys[i].Expired(s.site.Mon.Now()) {
		return checks.Key{}, checks.ErrNotFound
	}
	first, err := s.store.Spend(ctx, "signin-link:"+hex.EncodeToString(body[40:]), time.Unix(int64(binary.BigEndian.Uint64(body)), 0))
	if err != nil {
		return checks.Key{}, err
	}
	if !first {
		return checks.Key{}, errUsedLink
	}
	return keys[i], nil
}

// signInPage asks for an API key.
func (s *Sessions) signInPage(q *ui.Request) error {
	return s.AskToSignIn(q, http.StatusOK, SignIn{Next: ui.LocalPath(q.R.URL.Query().Get("next"))})
}

// SignIn starts a session with an API key.
func (s *Sessions) SignIn(q *ui.Request) error {
	if err := q.R.ParseForm(); err != nil {
		return ui.FormError(err)
	}
	page := SignIn{Next: ui.LocalPath(q.R.PostForm.Get("next")), Held: q.R.PostForm.Get("held"), ByKey: true}
	key, err := q.Mon.Projects().Authenticate(q.Ctx(), strings.TrimSpace(q.R.PostForm.Get("key")))
	if errors.Is(err, checks.ErrNotFound) {
		page.Problem = s.wrongKey(q, err)
		return s.AskToSignIn(q, http.StatusForbidden, page)
	}
	if err != nil {
		return err
	}
	if key.ProjectID == uuid.Nil {
		page.Problem = "This key is for the API of the whole installation. Sign in with a key of a project."
		return s.AskToSignIn(q, http.StatusForbidden, page)
	}
	if err := s.startWith(q, key); err != nil {
		return err
	}
	return s.Enter(q, page, fmt.Sprintf("/projects/%s/overview", key.ProjectID))
}

// wrongKey logs why a key was refused, and returns what the page says.
func (s *Sessions) wrongKey(q *ui.Request, err error) string {
	if errors.Is(err, checks.ErrKeyExpired) {
		s.LogRefusal(q, "refused a sign-in", "expired API key")
		return "This key has expired. Ask someone who owns the project for a new one."
	}
	s.LogRefusal(q, "refused a sign-in", "unknown API key")
	return "This key is not valid."
}

// ConfirmWays says that the holder of a key confirms with a key that owns the project.
func (s *Sessions) ConfirmWays(_ *ui.Request, page *ui.Confirmation) error {
	page.Key = true
	return nil
}

// Confirm takes a key that owns the project, as a sign-in does.
func (s *Sessions) Confirm(q *ui.Request, given url.Values) (problem string, status int, err error) {
	key, err := q.Mon.Projects().Authenticate(q.Ctx(), strings.TrimSpace(given.Get("confirm-key")))
	switch {
	case errors.Is(err, checks.ErrNotFound):
		return s.wrongKey(q, err), http.StatusForbidden, nil
	case err != nil:
		return "", 0, err
	case key.ProjectID != q.Project.ID || !key.Scope.Right().Owns():
		return "This is not an admin key of this project.", http.StatusForbidden, nil
	}
	return "", 0, s.startWith(q, key)
}

// startWith begins a session with a key, and with those that the browser has signed in with before.
func (s *Sessions) startWith(q *ui.Request, key checks.Key) error {
	current, err := s.Current(q.R)
	if err != nil && !errors.Is(err, server.ErrSignedOut) {
		return err
	}
	ref := sessions.Key{Project: key.ProjectID, Key: key.ID, At: q.Mon.Now()}
	for i := range current.Keys {
		current.Keys[i].At = current.Entered(current.Keys[i])
	}
	others := slices.DeleteFunc(current.Keys, func(k sessions.Key) bool { return k.Key == ref.Key })
	keys := append([]sessions.Key{ref}, others...)
	return s.Start(q, sessions.Session{Keys: keys[:min(len(keys), maxKeys)]}, nil)
}

// SignOut ends the session of the browser.
func (s *Sessions) SignOut(q *ui.Request) error {
	if err := s.End(q); err != nil { // the cookie stays, so that the viewer can try again
		return err
	}
	return q.Redirect("/signin")
}
