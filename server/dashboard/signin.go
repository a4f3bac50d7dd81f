package dashboard

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// SignInLinkAge is how long a link of [Dashboard.SignInLink] can be used.
const SignInLinkAge = 24 * time.Hour

// errUsedLink is the error of a link that has signed somebody in before, or is too old.
var errUsedLink = errors.New("the link has expired or was already used")

func (d *Dashboard) signInRoutes() {
	d.public("GET /signin", d.signInPage)
	d.public("POST /signin", d.signIn)
	d.public("GET /signin/{link}", d.useLink)
	d.public("POST /signout", d.signOut)
}

// SignInLink returns an address that signs one person in, once and within [SignInLinkAge], as the API key with this
// text would. The session ends when the key is revoked. The error is [checks.ErrNotFound] for a text that is no key.
func (d *Dashboard) SignInLink(ctx context.Context, key string) (string, error) {
	found, err := d.mon.Authenticate(ctx, key)
	if err != nil {
		return "", err
	}
	body := binary.BigEndian.AppendUint64(nil, uint64(d.mon.Now().Add(SignInLinkAge).Unix()))
	body = append(append(body, found.ProjectID[:]...), found.ID[:]...)
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // never fails
	sealed, err := d.sessions.seal(ctx, "link", append(body, nonce...))
	if err != nil {
		return "", err
	}
	return d.config.BaseURL + "/signin/" + sealed, nil
}

// useLink signs in by a link, unless a browser only fetches it ahead of a click.
func (d *Dashboard) useLink(q *request) error {
	if q.config.Authorize != nil {
		return checks.ErrNotFound
	}
	if strings.Contains(q.r.Header.Get("Sec-Purpose"), "prefetch") || q.r.Method != http.MethodGet {
		q.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	key, err := d.takeLink(q.ctx(), q.r.PathValue("link"))
	switch {
	case errors.Is(err, errUsedLink), errors.Is(err, ErrSignedOut), errors.Is(err, checks.ErrNotFound):
		return q.showSignIn(http.StatusForbidden, "This link has expired or was already used. Sign in with an API key.", "")
	case err != nil:
		return err
	}
	if err := d.sessions.add(q.w, q.r, key); err != nil {
		return err
	}
	return q.redirect("/projects/%s/", key.ProjectID)
}

// takeLink uses a link up and returns its key.
func (d *Dashboard) takeLink(ctx context.Context, link string) (checks.Key, error) {
	body, err := d.sessions.open(ctx, "link", link)
	if err != nil {
		return checks.Key{}, err
	}
	if len(body) != 8+16+16+16 || d.mon.Now().Unix() >= int64(binary.BigEndian.Uint64(body)) {
		return checks.Key{}, errUsedLink
	}
	key, err := d.sessions.key(ctx, keyRef{project: uuid.UUID(body[8:24]), key: uuid.UUID(body[24:40])})
	if err != nil {
		return checks.Key{}, err
	}
	first, err := d.mon.Once(ctx, "signin-link:"+hex.EncodeToString(body[40:]))
	if err != nil {
		return checks.Key{}, err
	}
	if !first {
		return checks.Key{}, errUsedLink
	}
	return key, nil
}

// signInPage asks for an API key.
func (d *Dashboard) signInPage(q *request) error {
	if q.config.Authorize != nil {
		return checks.ErrNotFound
	}
	return q.showSignIn(http.StatusOK, "", localPath(q.r.URL.Query().Get("next")))
}

// signIn starts a session with an API key.
func (d *Dashboard) signIn(q *request) error {
	if q.config.Authorize != nil {
		return checks.ErrNotFound
	}
	if err := q.r.ParseForm(); err != nil {
		return formError(err)
	}
	next := localPath(q.r.PostForm.Get("next"))
	key, err := d.mon.Authenticate(q.ctx(), strings.TrimSpace(q.r.PostForm.Get("key")))
	if errors.Is(err, checks.ErrNotFound) {
		return q.showSignIn(http.StatusForbidden, "This key is not valid.", next)
	}
	if err != nil {
		return err
	}
	d.sessions.forget(key.ProjectID)
	if err := d.sessions.add(q.w, q.r, key); err != nil {
		return err
	}
	if next != "" {
		http.Redirect(q.w, q.r, next, http.StatusSeeOther)
		return nil
	}
	return q.redirect("/projects/%s/", key.ProjectID)
}

func (d *Dashboard) signOut(q *request) error {
	if q.config.Authorize != nil {
		return checks.ErrNotFound
	}
	if err := d.sessions.end(q.r); err != nil { // the cookie stays, so that the viewer can try again
		return err
	}
	http.SetCookie(q.w, q.cookie(sessionCookie, "", -1))
	return q.redirect("/signin")
}

// askToSignIn answers a request of somebody who is not signed in.
func (d *Dashboard) askToSignIn(q *request) {
	to := d.config.SignInURL
	if d.config.Authorize == nil {
		to = d.base + "/signin"
		if q.r.Method == http.MethodGet && q.r.URL.Path != d.base+"/" {
			to += "?next=" + url.QueryEscape(q.r.URL.RequestURI())
		}
	}
	if to == "" {
		_ = q.renderStatus(http.StatusUnauthorized, "error", "Not signed in", struct{ Title, Text string }{"Not signed in", "Sign in to see this page."})
		return
	}
	http.Redirect(q.w, q.r, to, http.StatusSeeOther)
}

func (q *request) showSignIn(status int, problem, next string) error {
	return q.renderStatus(status, "signin", "Sign in", struct{ Problem, Next string }{problem, next})
}

// localPath returns a path on this host to which a form may lead, or "".
func localPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return ""
	}
	return path
}

// formError keeps the error of a form that is too large, and turns others into errBadForm.
func formError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return err
	}
	return errBadForm
}
