package server

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
	"github.com/rollcall-dev/rollcall/server/internal/secret"
)

// This file holds what the links in alerts share: signed tokens, and pages that need no sign-in.

const (
	linkMethods = "GET, HEAD, POST"
	// maxToken is the length of a token for the longest address.
	maxToken = 600
)

// linkStyle is the style sheet of the pages.
var linkStyle = func() string {
	_, style, _ := strings.Cut(unsubscribeFile, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	return style
}()

// linkPolicy lets such a page use its style and send its form, and nothing else.
var linkPolicy = func() string {
	sum := sha256.Sum256([]byte(linkStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'; " +
		"base-uri 'none'; frame-ancestors 'none'"
}()

// seal returns the token of a message: its signature by a key, followed by the message.
func seal(ctx context.Context, key *secret.Secret, message []byte) (token string, err error) {
	text, err := key.Get(ctx)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, text)
	mac.Write(message)
	return base64.RawURLEncoding.EncodeToString(append(mac.Sum(nil), message...)), nil
}

// unseal returns the message of a token, of at least so many bytes. A bad token is [checks.ErrNotFound].
func unseal(ctx context.Context, key *secret.Secret, token string, least int) (message []byte, err error) {
	if len(token) > maxToken {
		return nil, checks.ErrNotFound
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(sealed) < sha256.Size+least {
		return nil, checks.ErrNotFound
	}
	message = sealed[sha256.Size:]
	right, err := seal(ctx, key, message)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal([]byte(right), []byte(token)) {
		return nil, checks.ErrNotFound
	}
	return message, nil
}

// linkPage answers a request with a page about what apply returns.
func (s *Server) linkPage(w http.ResponseWriter, r *http.Request, page *template.Template, apply func(r *http.Request) (status int, data any, err error)) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		w.Header().Set("Allow", linkMethods)
		s.fail(w, r, errMethod)
		return
	}
	r, cancel := limit.Detach(r)
	defer cancel()
	var b bytes.Buffer
	status, data, err := apply(r)
	if err == nil {
		err = page.Execute(&b, data)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Security-Policy", linkPolicy)
	write(w, status, "text/html; charset=utf-8", b.Bytes())
}
