package oidc

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/server/people"
)

// Error is why a sign-in failed.
type Error struct {
	// Status is that of an HTTP answer.
	Status int
	// Text is for the page that the person sees. It has nothing of the provider's answer.
	Text string
	err  error
}

// Error is for the log. It has no secret.
func (e *Error) Error() string { return "oidc: " + cmp.Or(e.err, errors.New(e.Text)).Error() }

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.err }

// Page returns the status and the text of the page that the person sees.
func (e *Error) Page() (status int, text string) { return e.Status, e.Text }

const (
	textAway       = "The identity provider does not answer. Try again in a moment. Meanwhile, an administrator can let you in: rollcall user reset-password prints a link that works without the provider."
	textStale      = "This sign-in took too long, was used before or began in another browser. Start again."
	textDenied     = "The identity provider did not let you in. Ask its administrator for access to Rollcall."
	textRefused    = "The identity provider refused the sign-in. An administrator finds the reason in the server's log."
	textWrong      = "The answer of the identity provider could not be verified. An administrator finds the reason in the server's log."
	textNotAgain   = "The identity provider did not ask you to sign in again, so nothing is confirmed. Sign out there, and try again."
	textNoAuthTime = "The identity provider does not say when you signed in there, so it cannot confirm anything. An administrator must configure it to send the claim auth_time."
	textNoEmail    = "The identity provider sent no e-mail address for you. An administrator must configure it to send the claim email."
)

func refused(status int, text, format string, args ...any) error {
	return &Error{Status: status, Text: text, err: fmt.Errorf(format, args...)}
}

// short cuts an error, which may contain a whole page of the provider.
func short(err error) string {
	return prose.Brief(strings.Join(strings.Fields(err.Error()), " "), 300)
}

// Finish ends a sign-in with what [Provider.Begin] returned and the query that the provider sent the browser back to the callback
// with. The provider takes the code of a query once. An error is an [*Error].
func (p *Provider) Finish(ctx context.Context, callback string, kept []byte, query url.Values) (people.External, error) {
	var s started
	if err := json.Unmarshal(kept, &s); err != nil || s.State == "" {
		return people.External{}, refused(http.StatusBadRequest, textStale, "this browser has not begun a sign-in")
	}
	if subtle.ConstantTimeCompare([]byte(s.State), []byte(query.Get("state"))) != 1 {
		return people.External{}, refused(http.StatusBadRequest, textStale, "the state of the answer is not that of the request")
	}
	if issuer := query.Get("iss"); issuer != "" && issuer != p.config.Issuer { // RFC 9207
		return people.External{}, refused(http.StatusBadGateway, textWrong, "the answer is from %q instead of %q", issuer, p.config.Issuer)
	}
	switch code := query.Get("error"); {
	case code == "access_denied":
		return people.External{}, refused(http.StatusForbidden, textDenied, "the provider denied access: %q", query.Get("error_description"))
	case code == "temporarily_unavailable" || code == "server_error":
		return people.External{}, refused(http.StatusServiceUnavailable, textAway, "the provider failed: %q: %q", code, query.Get("error_description"))
	case code != "":
		return people.External{}, refused(http.StatusBadGateway, textRefused, "the provider answered with the error %q: %q", code, query.Get("error_description"))
	case query.Get("code") == "":
		return people.External{}, refused(http.StatusBadGateway, textWrong, "the answer has neither a code nor an error")
	}
	known, err := p.describe(ctx)
	if err != nil {
		return people.External{}, err
	}
	token, id, err := p.redeem(ctx, known, callback, s, query.Get("code"))
	if err != nil {
		return people.External{}, err
	}
	age, err := p.age(s, id)
	if err != nil {
		return people.External{}, err
	}
	who, err := p.person(ctx, known, token, id)
	who.Age = age
	return who, err
}

// clockSkew is how far the provider's clock may be behind ours when people sign in again.
const clockSkew = time.Minute

// age returns how long ago, in whole minutes, the person proved to the provider who they are, or 0 if it does not say.
// Who must do it again has done so since the attempt began.
func (p *Provider) age(s started, id *oidc.IDToken) (time.Duration, error) {
	all := claims{}
	if err := id.Claims(&all); err != nil {
		return 0, refused(http.StatusBadGateway, textWrong, "the claims of the ID token: %w", err)
	}
	var seconds float64
	said := json.Unmarshal(all["auth_time"], &seconds) == nil && seconds > 0 && seconds < 1<<40
	at := time.Unix(int64(seconds), 0)
	switch {
	case s.Again.IsZero() && !said:
		return 0, nil
	case !s.Again.IsZero() && !said:
		return 0, refused(http.StatusForbidden, textNoAuthTime, "the provider sent no claim auth_time, although max_age asks for it")
	case !s.Again.IsZero() && at.Before(s.Again.Add(-clockSkew)):
		return 0, refused(http.StatusForbidden, textNotAgain, "the person signed in at the provider at %s, before they were asked to again", at.UTC().Format(time.RFC3339))
	}
	return max(0, p.config.Now().Sub(at)).Truncate(time.Minute), nil
}

// redeem exchanges the code for tokens and verifies the ID token.
func (p *Provider) redeem(ctx context.Context, known *description, callback string, s started, code string) (*oauth2.Token, *oidc.IDToken, error) {
	ctx, cancel := context.WithTimeout(p.client(ctx), requestTimeout)
	defer cancel()
	token, err := known.client(callback).Exchange(ctx, code, oauth2.VerifierOption(s.Verifier))
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answer.Response.StatusCode < http.StatusInternalServerError {
		switch answer.ErrorCode {
		case "invalid_grant":
			return nil, nil, refused(http.StatusBadRequest, textStale, "the code has expired or was used before: %q", answer.ErrorDescription)
		case "invalid_client", "unauthorized_client":
			return nil, nil, refused(http.StatusBadGateway, textRefused, "the provider does not accept the client %q: check its ID and its secret: %q", p.config.ClientID, answer.ErrorDescription)
		}
		return nil, nil, refused(http.StatusBadGateway, textRefused, "the provider gave no token: %s: %q: %q", answer.Response.Status, answer.ErrorCode, answer.ErrorDescription)
	}
	if err != nil {
		return nil, nil, refused(http.StatusServiceUnavailable, textAway, "cannot exchange the code at %s: %s", known.oauth.Endpoint.TokenURL, short(err))
	}
	text, ok := token.Extra("id_token").(string)
	if !ok {
		return nil, nil, refused(http.StatusBadGateway, textWrong, "the answer of %s has no id_token", known.oauth.Endpoint.TokenURL)
	}
	id, err := known.verifier.Verify(ctx, text)
	if expired, ok := errors.AsType[*oidc.TokenExpiredError](err); ok {
		return nil, nil, refused(http.StatusBadGateway, textWrong, "the ID token expired at %s, and it is %s here: compare the clocks",
			expired.Expiry.UTC().Format(time.RFC3339), p.config.Now().UTC().Format(time.RFC3339))
	}
	if err != nil {
		return nil, nil, refused(http.StatusBadGateway, textWrong, "the ID token is not valid: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(s.Nonce)) != 1 {
		return nil, nil, refused(http.StatusBadGateway, textWrong, "the nonce of the ID token is not that of the request")
	}
	if id.AccessTokenHash != "" {
		if err := id.VerifyAccessToken(token.AccessToken); err != nil {
			return nil, nil, refused(http.StatusBadGateway, textWrong, "the access token is not that of the ID token: %w", err)
		}
	}
	return token, id, nil
}

// person returns what the provider says about the holder of the tokens. Claims that the ID token lacks come from the userinfo
// endpoint.
func (p *Provider) person(ctx context.Context, known *description, token *oauth2.Token, id *oidc.IDToken) (people.External, error) {
	all := claims{}
	if err := id.Claims(&all); err != nil {
		return people.External{}, refused(http.StatusBadGateway, textWrong, "the claims of the ID token: %w", err)
	}
	if id.Subject == "" {
		return people.External{}, refused(http.StatusBadGateway, textWrong, "the ID token has no subject")
	}
	if party := all.text("azp"); party != "" && party != p.config.ClientID {
		return people.External{}, refused(http.StatusBadGateway, textWrong, "the ID token was issued to %q instead of %q", party, p.config.ClientID)
	}
	if p.lacks(all) && known.provider.UserInfoEndpoint() != "" {
		if err := p.userInfo(ctx, known, token, id.Subject, all); err != nil {
			return people.External{}, err
		}
	}
	who := people.External{Issuer: p.config.Issuer, Subject: id.Subject, Email: all.text("email"), Name: cmp.Or(all.text("name"), all.text("preferred_username"))}
	who.EmailVerified = all.yes("email_verified")
	if who.Email == "" {
		return people.External{}, refused(http.StatusForbidden, textNoEmail, "the provider sent no claim email for the subject %q, only %s", id.Subject, all.names())
	}
	if missing := apply(p.config.Roles, all, &who); len(missing) > 0 {
		p.incomplete.Log(p.config.Logger, slog.LevelWarn, strings.Join(missing, ","), "the identity provider sent no claim that the roles need: add it to the tokens of this client",
			"missing", strings.Join(missing, ","), "sent", all.names(), "email", who.Email)
	}
	return who, nil
}

// lacks reports whether a claim that a person needs is missing.
func (p *Provider) lacks(c claims) bool {
	for _, name := range []string{"email", "email_verified", "name"} {
		if _, sent := c[name]; !sent {
			return true
		}
	}
	return slices.ContainsFunc(p.config.Roles, func(r Rule) bool { _, sent := c.values(r.Claim); return !sent })
}

// userInfo adds the claims of the userinfo endpoint. Those of the ID token, which is signed, stay.
func (p *Provider) userInfo(ctx context.Context, known *description, token *oauth2.Token, subject string, into claims) error {
	ctx, cancel := context.WithTimeout(p.client(ctx), requestTimeout)
	defer cancel()
	info, err := known.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return refused(http.StatusServiceUnavailable, textAway, "cannot read %s: %s", known.provider.UserInfoEndpoint(), short(err))
	}
	more := claims{}
	if err := info.Claims(&more); err != nil || info.Subject != subject {
		return refused(http.StatusBadGateway, textWrong, "the answer of %s is about %q instead of %q", known.provider.UserInfoEndpoint(), info.Subject, subject)
	}
	// The verification of an address is no verification of another one.
	switch email := into.text("email"); {
	case email == "":
		delete(into, "email_verified")
	case more.text("email") != email:
		delete(more, "email_verified")
	}
	maps.Copy(more, into)
	maps.Copy(into, more)
	return nil
}

// text returns a claim that is a text, or "".
func (c claims) text(name string) (text string) {
	if json.Unmarshal(c[name], &text) != nil {
		return ""
	}
	return text
}

// yes reports whether a claim is true, or the text "true", which Amazon Cognito and Apple send. A list or an object is no answer.
func (c claims) yes(name string) bool {
	return string(c[name]) == "true" || c.text(name) == "true"
}

// names lists the claims for the log, without their values.
func (c claims) names() string {
	return strings.Join(slices.Sorted(maps.Keys(c)), ",")
}
