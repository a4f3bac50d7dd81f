// Package oidc signs people in with an identity provider by OpenID Connect: the authorization code flow with PKCE, state and
// nonce. What the provider says about a person becomes a [people.External].
//
//	provider, err := oidc.New(oidc.Config{
//		Issuer: "https://login.example.org", ClientID: "rollcall", ClientSecret: secret,
//		Roles:  []oidc.Rule{{Claim: "groups", Value: "ops", Role: people.Owner, Project: "payments"}},
//	})
//	config := &accounts.Config{Provider: provider}
//
// The redirect URI to register at the provider is the address of the pages + /signin/oidc/callback.
// The provider may be down when a program starts: it is asked at the first sign-in, and again until it answers.
package oidc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/rollcall-dev/rollcall/server/internal/limit"
)

const (
	// requestTimeout bounds a request to the provider.
	requestTimeout = 10 * time.Second
	// maxAnswer bounds an answer of the provider, in bytes.
	maxAnswer = 1 << 20
	// refreshAfter is how long the provider's description of itself is kept.
	refreshAfter = time.Hour
	// retryAfter is how long a provider that failed is not asked again, so that waiting people do not pile up.
	retryAfter = 2 * time.Second
)

// Config says which provider signs people in. Issuer and ClientID are required.
type Config struct {
	// Issuer is the address of the provider as it calls itself, to the last slash. It is https, or http on this machine.
	Issuer string
	// ClientID and ClientSecret are what the provider knows this server by. A public client has no secret.
	ClientID, ClientSecret string
	// Roles give people their roles at each sign-in. Default: none, and owners give roles here.
	Roles []Rule
	// Client makes the requests to the provider. It follows no redirect to another origin. Default: one with a timeout of 10 seconds.
	Client *http.Client
	// Now is the time. Default: time.Now.
	Now func() time.Time
	// Logger receives what is wrong with the answers of the provider. Default: slog.Default().
	Logger *slog.Logger
}

// Provider is an identity provider. It is safe for concurrent use.
type Provider struct {
	config Config
	name   string
	// incomplete are the answers that lack a claim.
	incomplete limit.Repeats

	mu       sync.Mutex
	known    *description
	asked    time.Time // when known was read, or failed to be
	askError error
}

// description is what the provider says about itself.
type description struct {
	provider *oidc.Provider
	oauth    *oauth2.Config
	verifier *oidc.IDTokenVerifier
}

// New returns a provider. It makes no request. The error names the field that is wrong.
func New(c Config) (*Provider, error) {
	issuer, err := url.Parse(c.Issuer)
	switch {
	case err != nil || issuer.Host == "":
		return nil, fmt.Errorf("oidc: Issuer: %q is not a URL such as https://login.example.org", c.Issuer)
	case issuer.Scheme != "https" && (issuer.Scheme != "http" || !onThisMachine(issuer.Hostname())):
		return nil, fmt.Errorf("oidc: Issuer: %q must begin with https://; only a provider on this machine may use http", c.Issuer)
	case issuer.RawQuery != "" || issuer.Fragment != "" || issuer.User != nil:
		return nil, fmt.Errorf("oidc: Issuer: %q must have no user, query or fragment", c.Issuer)
	case c.ClientID == "":
		return nil, errors.New("oidc: ClientID: is missing")
	}
	client := *cmp.Or(c.Client, &http.Client{Timeout: requestTimeout, Transport: bounded{http.DefaultTransport}})
	client.CheckRedirect = sameOrigin(client.CheckRedirect)
	c.Client = &client
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Provider{config: c, name: issuer.Hostname()}, nil
}

func onThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// sameOrigin returns a rule for redirects like another one, but none leads to another origin: requests carry the secret of the client,
// codes and tokens.
func sameOrigin(rule func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		if from := via[0].URL; !strings.EqualFold(r.URL.Scheme, from.Scheme) || !strings.EqualFold(r.URL.Host, from.Host) {
			return fmt.Errorf("redirect to another origin, %s://%s", r.URL.Scheme, r.URL.Host)
		}
		switch {
		case rule != nil:
			return rule(r, via)
		case len(via) >= 10:
			return errors.New("too many redirects")
		}
		return nil
	}
}

// bounded bounds the answers to requests.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// describe returns what the provider says about itself. If it cannot be reached, what it said before counts.
func (p *Provider) describe(ctx context.Context) (*description, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.config.Now()
	switch age := now.Sub(p.asked); {
	case p.known != nil && age < refreshAfter:
		return p.known, nil
	case p.known == nil && p.askError != nil && age < retryAfter:
		return nil, p.askError
	}
	fresh, err := p.discover(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, err // the visitor has left, which says nothing about the provider
	}
	p.asked, p.askError = p.config.Now(), err
	if err == nil {
		p.known = fresh
	}
	if p.known == nil {
		return nil, err
	}
	return p.known, nil
}

func (p *Provider) discover(ctx context.Context) (*description, error) {
	ctx, cancel := context.WithTimeout(p.client(ctx), requestTimeout)
	defer cancel()
	provider, err := oidc.NewProvider(ctx, p.config.Issuer)
	if mismatch, ok := errors.AsType[*oidc.IssuerMismatchError](err); ok {
		return nil, refused(http.StatusBadGateway, textWrong, "the provider at %s calls itself %q: set the issuer to exactly that", mismatch.Provided, mismatch.Discovered)
	}
	if err != nil {
		return nil, refused(http.StatusServiceUnavailable, textAway, "cannot read %s/.well-known/openid-configuration: %s", strings.TrimSuffix(p.config.Issuer, "/"), short(err))
	}
	var offer offer
	_ = provider.Claims(&offer) // it has been parsed before
	if err := p.check(offer); err != nil {
		return nil, err
	}
	scopes := []string{oidc.ScopeOpenID, "profile", "email"}
	for _, rule := range p.config.Roles {
		if slices.Contains(offer.Scopes, rule.Claim) && !slices.Contains(scopes, rule.Claim) {
			scopes = append(scopes, rule.Claim) // many providers send groups only for a scope of that name
		}
	}
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = p.authStyle(offer.Methods)
	return &description{
		provider: provider,
		verifier: provider.Verifier(&oidc.Config{ClientID: p.config.ClientID, Now: p.config.Now}),
		oauth: &oauth2.Config{
			ClientID: p.config.ClientID, ClientSecret: p.config.ClientSecret,
			Endpoint: endpoint, Scopes: scopes,
		},
	}, nil
}

// offer is a part of the provider's description of itself.
type offer struct {
	Scopes        []string `json:"scopes_supported"`
	Methods       []string `json:"token_endpoint_auth_methods_supported"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Keys          string   `json:"jwks_uri"`
	UserInfo      string   `json:"userinfo_endpoint"`
}

// check refuses an offer without an endpoint, and one that leads browsers or secrets astray.
func (p *Provider) check(o offer) error {
	for _, endpoint := range []struct{ name, url string }{
		{"authorization_endpoint", o.Authorization}, {"token_endpoint", o.Token}, {"jwks_uri", o.Keys}, {"userinfo_endpoint", o.UserInfo},
	} {
		if endpoint.url == "" && endpoint.name == "userinfo_endpoint" {
			continue // it is optional
		}
		if err := p.checkEndpoint(endpoint.url); err != nil {
			return refused(http.StatusBadGateway, textWrong, "the provider %s describes itself wrongly: %s %w", p.config.Issuer, endpoint.name, err)
		}
	}
	return nil
}

func (p *Provider) checkEndpoint(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return errors.New("is missing")
	case err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("is %q, which is not the URL of an endpoint", text)
	case u.Scheme == "https", u.Scheme == "http" && strings.HasPrefix(p.config.Issuer, "http:") && onThisMachine(u.Hostname()):
		return nil
	}
	return fmt.Errorf("is %q, which must begin with https://", text)
}

// authStyle returns how the client authenticates itself, so that the library need not find out by a request that fails. Without a
// word of the provider, it is client_secret_basic. A public client only names itself.
func (p *Provider) authStyle(methods []string) oauth2.AuthStyle {
	post := slices.Contains(methods, "client_secret_post") && !slices.Contains(methods, "client_secret_basic")
	if p.config.ClientSecret == "" || post {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

func (p *Provider) client(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.config.Client)
}

// Name is the host of the provider, for a button.
func (p *Provider) Name() string { return p.name }

// started is a sign-in that has begun. Again is when, if the person must prove who they are at the provider, or the zero time.
type started struct {
	State, Nonce, Verifier string
	Again                  time.Time `json:",omitzero"`
}

// Begin starts a sign-in that ends at a callback. It returns the address at the provider to which the browser goes, and what
// [Provider.Finish] needs: only this browser may bring that back, and nobody may read it. An error is an [*Error].
func (p *Provider) Begin(ctx context.Context, callback string) (to string, kept []byte, err error) {
	return p.begin(ctx, callback, time.Time{})
}

// BeginAgain is Begin for a person who has signed in before, and must now prove to the provider who they are although it knows them.
// Finish refuses an answer whose claim auth_time is missing, or of before.
func (p *Provider) BeginAgain(ctx context.Context, callback string) (to string, kept []byte, err error) {
	return p.begin(ctx, callback, p.config.Now(), oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
}

func (p *Provider) begin(ctx context.Context, callback string, again time.Time, options ...oauth2.AuthCodeOption) (to string, kept []byte, err error) {
	known, err := p.describe(ctx)
	if err != nil {
		return "", nil, err
	}
	s := started{State: oauth2.GenerateVerifier(), Nonce: oauth2.GenerateVerifier(), Verifier: oauth2.GenerateVerifier(), Again: again}
	if kept, err = json.Marshal(s); err != nil {
		return "", nil, err
	}
	options = append(options, oidc.Nonce(s.Nonce), oauth2.S256ChallengeOption(s.Verifier))
	return known.client(callback).AuthCodeURL(s.State, options...), kept, nil
}

// client returns the client whose browsers come back to a callback.
func (d *description) client(callback string) *oauth2.Config {
	c := *d.oauth
	c.RedirectURL = callback
	return &c
}
