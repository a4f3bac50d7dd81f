package oidc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/oidc"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/oidctest"
	"github.com/rollcall-dev/rollcall/server/people"
)

const callback = "http://127.0.0.1:8000/signin/oidc/callback"

var ann = oidctest.Person{Subject: "s-ann", Email: "ann@example.org", Name: "Ann Ops", Groups: []string{"ops", "everyone"}}

// site is a server that signs people in with a provider.
type site struct {
	*testing.T
	idp    *oidctest.Provider
	config oidc.Config
	rp     *oidc.Provider
	now    time.Time
	log    bytes.Buffer
}

func newSite(t *testing.T, change func(*oidc.Config)) *site {
	s := &site{T: t, idp: oidctest.New(t, callback, ann), now: time.Now()}
	s.config = oidc.Config{
		Issuer: s.idp.Issuer, ClientID: oidctest.ClientID, ClientSecret: oidctest.Secret,
		Now: func() time.Time { return s.now }, Logger: slog.New(slog.NewTextHandler(&s.log, nil)),
	}
	if change != nil {
		change(&s.config)
	}
	var err error
	if s.rp, err = oidc.New(s.config); err != nil {
		t.Fatal(err)
	}
	return s
}

// through makes a new client of the provider, with this transport.
func (s *site) through(transport http.RoundTripper) {
	s.Helper()
	s.config.Client = &http.Client{Transport: transport}
	var err error
	if s.rp, err = oidc.New(s.config); err != nil {
		s.Fatal(err)
	}
}

// begin starts a sign-in and does it at the provider.
func (s *site) begin() (kept []byte, query url.Values) {
	s.Helper()
	to, kept, err := s.rp.Begin(s.Context(), callback)
	if err != nil {
		s.Fatal(err)
	}
	return kept, s.idp.SignIn(s, to, ann.Email).Query()
}

func (s *site) signIn() (people.External, error) {
	s.Helper()
	kept, query := s.begin()
	return s.rp.Finish(s.Context(), callback, kept, query)
}

// wantError checks the status of an error and what it says in the log. The page must not have it.
func wantError(t *testing.T, err error, status int, text string) {
	t.Helper()
	failed, ok := errors.AsType[*oidc.Error](err)
	if !ok || failed.Status != status || !strings.Contains(err.Error(), text) {
		t.Errorf("the error is %v, want status %d and %q", err, status, text)
		return
	}
	if _, page := failed.Page(); strings.Contains(page, text) || page == "" {
		t.Errorf("the page says %q", page)
	}
}

// TestSignIn signs somebody in, whose claims come from the userinfo endpoint, with and without a secret of the client.
func TestSignIn(t *testing.T) {
	for _, client := range []string{oidctest.ClientID, oidctest.Public} {
		s := newSite(t, func(c *oidc.Config) {
			if c.ClientID = client; client == oidctest.Public {
				c.ClientSecret = ""
			}
		})
		who, err := s.signIn()
		if err != nil {
			t.Fatal(client, err)
		}
		want := people.External{Issuer: s.idp.Issuer, Subject: "s-ann", Email: ann.Email, Name: "Ann Ops", EmailVerified: true}
		if diff := cmp.Diff(want, who); diff != "" {
			t.Errorf("%s (-want +got):\n%s", client, diff)
		}
	}
}

// TestRequest checks what the provider is asked: PKCE, state and nonce, fresh ones each time.
func TestRequest(t *testing.T) {
	s := newSite(t, nil)
	seen := map[string]bool{}
	for range 2 {
		to, kept, err := s.rp.Begin(t.Context(), callback)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		if q.Get("code_challenge_method") != "S256" || q.Get("response_type") != "code" || q.Get("redirect_uri") != callback || q.Get("scope") != "openid profile email" {
			t.Errorf("the request is %v", q)
		}
		for _, name := range []string{"state", "nonce", "code_challenge"} {
			if value := q.Get(name); len(value) != 43 || seen[value] {
				t.Errorf("%s is %q", name, value)
			} else {
				seen[value] = true
			}
		}
		if strings.Contains(string(kept), q.Get("code_challenge")) || strings.Contains(to, oidctest.Secret) {
			t.Error("a secret is where it does not belong")
		}
	}
}

// TestTokens refuses ID tokens that are not for this sign-in.
func TestTokens(t *testing.T) {
	set := func(name string, value any) oidctest.Faults {
		return oidctest.Faults{Claims: func(c map[string]any) { c[name] = value }}
	}
	for name, c := range map[string]struct {
		fault oidctest.Faults
		text  string
	}{
		"issuer":       {set("iss", "https://evil.example"), "different provider"},
		"audience":     {set("aud", []string{"another"}), "expected audience"},
		"party":        {set("azp", "another"), `issued to "another"`},
		"nonce":        {set("nonce", "another"), "nonce"},
		"no nonce":     {oidctest.Faults{Claims: func(c map[string]any) { delete(c, "nonce") }}, "nonce"},
		"expired":      {set("exp", time.Now().Add(-time.Minute).Unix()), "compare the clocks"},
		"signature":    {oidctest.Faults{Forge: true}, "failed to verify signature"},
		"access token": {set("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"), "access token"},
		"subject":      {set("sub", ""), "no subject"},
		"userinfo":     {set("sub", "another"), `is about "s-ann" instead of "another"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, nil)
			s.idp.Fail(c.fault)
			_, err := s.signIn()
			wantError(t, err, http.StatusBadGateway, c.text)
		})
	}
}

// TestCallbacks refuses answers that do not belong to the sign-in, and shows why the provider refused.
func TestCallbacks(t *testing.T) {
	with := func(name, value string) func(url.Values) { return func(q url.Values) { q.Set(name, value) } }
	failed := func(code string) func(url.Values) {
		return func(q url.Values) { q.Del("code"); q.Set("error", code); q.Set("error_description", "not today") }
	}
	for name, c := range map[string]struct {
		change func(url.Values)
		status int
		text   string
	}{
		"state":     {with("state", "another"), 400, "state"},
		"no state":  {with("state", ""), 400, "state"},
		"issuer":    {with("iss", "https://evil.example"), 502, "evil.example"},
		"no code":   {with("code", ""), 502, "neither a code nor an error"},
		"code":      {with("code", "another"), 400, "the code has expired or was used before"},
		"denied":    {failed("access_denied"), 403, `denied access: "not today"`},
		"error":     {failed("invalid_scope"), 502, `"invalid_scope": "not today"`},
		"away":      {failed("temporarily_unavailable"), 503, "not today"},
		"own error": {func(q url.Values) { failed("access_denied")(q); q.Set("state", "forged") }, 400, "state"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, nil)
			kept, query := s.begin()
			c.change(query)
			_, err := s.rp.Finish(t.Context(), callback, kept, query)
			wantError(t, err, c.status, c.text)
		})
	}

	s := newSite(t, nil)
	kept, query := s.begin()
	_, err := s.rp.Finish(t.Context(), callback, nil, query)
	wantError(t, err, 400, "has not begun")
	other, _ := s.begin()
	_, err = s.rp.Finish(t.Context(), callback, other, query)
	wantError(t, err, 400, "state")
	if _, err := s.rp.Finish(t.Context(), callback, kept, query); err != nil {
		t.Fatal(err)
	}
	_, err = s.rp.Finish(t.Context(), callback, kept, query)
	wantError(t, err, 400, "the code has expired or was used before")
}

func TestDenied(t *testing.T) {
	s := newSite(t, nil)
	s.idp.Fail(oidctest.Faults{Deny: true})
	_, err := s.signIn()
	wantError(t, err, http.StatusForbidden, "not in the group")
}

func TestWrongSecret(t *testing.T) {
	s := newSite(t, func(c *oidc.Config) { c.ClientSecret = "guess" })
	_, err := s.signIn()
	wantError(t, err, http.StatusBadGateway, "check its ID and its secret")
	if strings.Contains(err.Error(), "guess") {
		t.Error(err)
	}
}

// TestKeyRotation signs in with a key that the provider has had only since the sign-in before.
func TestKeyRotation(t *testing.T) {
	s := newSite(t, nil)
	for range 3 {
		if _, err := s.signIn(); err != nil {
			t.Fatal(err)
		}
		s.idp.Rotate()
	}
}

// TestProviderIsDown needs no provider to start, and signs in as soon as there is one.
func TestProviderIsDown(t *testing.T) {
	s := newSite(t, nil)
	s.idp.Fail(oidctest.Faults{Down: true})
	_, _, err := s.rp.Begin(t.Context(), callback)
	wantError(t, err, http.StatusServiceUnavailable, "/.well-known/openid-configuration: 503")
	s.idp.Fail(oidctest.Faults{})
	if _, _, err := s.rp.Begin(t.Context(), callback); err == nil {
		t.Error("the provider is asked at once again")
	}
	s.now = s.now.Add(3 * time.Second)
	if _, err := s.signIn(); err != nil {
		t.Fatal(err)
	}

	kept, query := s.begin()
	s.idp.Fail(oidctest.Faults{Down: true})
	_, err = s.rp.Finish(t.Context(), callback, kept, query)
	wantError(t, err, http.StatusServiceUnavailable, "/oauth/token")
	s.now = s.now.Add(2 * time.Hour)
	if _, _, err := s.rp.Begin(t.Context(), callback); err != nil {
		t.Error("what the provider said before does not count:", err)
	}
}

// TestProviderHangs bounds how long a provider may take.
func TestProviderHangs(t *testing.T) {
	s := newSite(t, func(c *oidc.Config) { c.Client = &http.Client{Timeout: 10 * time.Millisecond} })
	s.idp.Fail(oidctest.Faults{Hang: true})
	_, _, err := s.rp.Begin(t.Context(), callback)
	wantError(t, err, http.StatusServiceUnavailable, "openid-configuration")

	s = newSite(t, nil)
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, _, err := s.rp.Begin(gone, callback); err == nil {
		t.Error("a visitor who has left is answered")
	}
	if _, err := s.signIn(); err != nil { // the provider is not to blame
		t.Error(err)
	}
}

func TestIssuerMismatch(t *testing.T) {
	s := newSite(t, func(c *oidc.Config) { c.Issuer += "/" })
	_, _, err := s.rp.Begin(t.Context(), callback)
	wantError(t, err, http.StatusBadGateway, "set the issuer to exactly that")
}

func TestEmail(t *testing.T) {
	s := newSite(t, nil)
	unverified := ann
	unverified.Unverified = true
	s.idp.Set(unverified)
	if who, err := s.signIn(); err != nil || who.EmailVerified {
		t.Errorf("%+v, %v", who, err)
	}
	// The userinfo endpoint verifies another address than that of the ID token.
	s.idp.Set(ann)
	s.idp.Fail(oidctest.Faults{Claims: func(c map[string]any) { c["email"] = "boss@example.org" }})
	if who, err := s.signIn(); err != nil || who.EmailVerified || who.Email != "boss@example.org" {
		t.Errorf("%+v, %v", who, err)
	}
	s.idp.Fail(oidctest.Faults{Claims: func(c map[string]any) { c["email"], c["email_verified"] = "boss@example.org", "true" }})
	if who, err := s.signIn(); err != nil || !who.EmailVerified {
		t.Errorf("%+v, %v", who, err)
	}
	for _, email := range []any{nil, []string{"boss@example.org"}, map[string]any{"boss@example.org": true}, true, 7} {
		s.idp.Fail(oidctest.Faults{Claims: func(c map[string]any) { c["email"] = email }})
		_, err := s.signIn()
		wantError(t, err, http.StatusForbidden, "no claim email")
	}
}

// TestVerified: an address is verified by true, or the text "true", and by nothing else.
func TestVerified(t *testing.T) {
	s := newSite(t, nil)
	for _, c := range []struct {
		sent any
		want bool
	}{
		{true, true}, {"true", true}, {false, false}, {"false", false}, {nil, false}, {1, false}, {"1", false}, {"True", false}, {"", false}, {[]any{}, false},
		{[]bool{true}, false}, {[]string{"true"}, false}, {map[string]bool{"true": true}, false}, {map[string]string{"true": "true"}, false}, {[]any{[]bool{true}}, false},
	} {
		s.idp.Fail(oidctest.Faults{Claims: func(claims map[string]any) { claims["email"], claims["email_verified"] = "boss@example.org", c.sent }})
		if who, err := s.signIn(); err != nil || who.EmailVerified != c.want {
			t.Errorf("email_verified %#v is taken as %t, %v", c.sent, who.EmailVerified, err)
		}
	}
}

// TestRedirects: requests to the provider follow no redirect to another origin, which would get the secret of the client.
func TestRedirects(t *testing.T) {
	reached := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer other.Close()
	s := newSite(t, nil)
	for _, path := range []string{"/.well-known/openid-configuration", "/oauth/token", "/keys", "/userinfo"} {
		for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
			s.through(answers(func(r *http.Request) (*http.Response, error) {
				answer, err := http.DefaultTransport.RoundTrip(r)
				if err == nil && r.URL.Path == path {
					answer.StatusCode = status
					answer.Header.Set("Location", other.URL+path)
				}
				return answer, err
			}))
			_, kept, err := s.rp.Begin(t.Context(), callback)
			if err == nil {
				kept, query := s.begin()
				_, err = s.rp.Finish(t.Context(), callback, kept, query)
			}
			if err == nil || !strings.Contains(err.Error(), "another origin") {
				t.Errorf("%s with %d: %v, %s", path, status, err, kept)
			}
		}
	}
	if reached > 0 {
		t.Errorf("%d requests reached the other origin", reached)
	}
}

// answers makes the requests of a client.
type answers func(*http.Request) (*http.Response, error)

func (f answers) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestEndpoints refuses a provider whose endpoints are missing or lead elsewhere than to the web.
func TestEndpoints(t *testing.T) {
	s := newSite(t, nil)
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"} {
		for _, bad := range []any{nil, "", "javascript:alert(1)", "JavaScript://x.example/%0aalert(1)", "file:///etc/passwd", "data:text/html,x", "/authorize", "//x.example/authorize", "https:///authorize",
			"ftp://x.example/", "http://x.example/authorize", "https://u:p@x.example/", "https://x.example/#a", "https://", "://"} {
			if name == "userinfo_endpoint" && (bad == nil || bad == "") {
				continue
			}
			s.through(&tokens{endpoint: name, url: bad})
			_, _, err := s.rp.Begin(t.Context(), callback)
			wantError(t, err, http.StatusBadGateway, name)
		}
	}
	for _, good := range []any{"https://x.example/authorize?tenant=1", "HTTPS://x.example", "http://localhost:1/authorize"} {
		s.through(&tokens{endpoint: "authorization_endpoint", url: good})
		if _, _, err := s.rp.Begin(t.Context(), callback); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

func TestNew(t *testing.T) {
	for name, c := range map[string]oidc.Config{
		`Issuer: "login.example.org" is not a URL`: {Issuer: "login.example.org", ClientID: "a"},
		"must begin with https://":                 {Issuer: "http://login.example.org", ClientID: "a"},
		"no user, query":                           {Issuer: "https://login.example.org?a", ClientID: "a"},
		"ClientID":                                 {Issuer: "https://login.example.org"},
	} {
		if _, err := oidc.New(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error is %v, want %q", err, name)
		}
	}
}

// tokens is a client that counts requests for tokens, and changes which ways of authentication, and which endpoint, the provider
// offers.
type tokens struct {
	methods  any
	endpoint string
	url      any
	requests []*http.Request
	bodies   []string
}

func (c *tokens) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/oauth/token" {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		c.requests, c.bodies = append(c.requests, r), append(c.bodies, string(body))
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.URL.Path, "/openid-configuration") {
		return answer, err
	}
	defer answer.Body.Close()
	document := map[string]any{}
	if err := json.NewDecoder(answer.Body).Decode(&document); err != nil {
		return nil, err
	}
	if document["token_endpoint_auth_methods_supported"] = c.methods; c.methods == nil {
		delete(document, "token_endpoint_auth_methods_supported")
	}
	if c.endpoint != "" {
		document[c.endpoint] = c.url
	}
	text, err := json.Marshal(document)
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return answer, err
}

// TestAuthStyle: a code costs one request, in the way that the provider offers, also if it is junk.
func TestAuthStyle(t *testing.T) {
	for name, c := range map[string]struct {
		methods   any
		id        string
		basic     bool
		inContent string
	}{
		"nothing said": {nil, oidctest.ClientID, true, ""},
		"both":         {[]string{"client_secret_post", "client_secret_basic"}, oidctest.ClientID, true, ""},
		"post":         {[]string{"private_key_jwt", "client_secret_post"}, oidctest.ClientID, false, "client_secret=" + oidctest.Secret},
		"neither":      {[]string{"private_key_jwt"}, oidctest.ClientID, true, ""},
		"public":       {[]string{"client_secret_basic"}, oidctest.Public, false, "client_id=" + oidctest.Public},
	} {
		client := &tokens{methods: c.methods}
		s := newSite(t, func(config *oidc.Config) {
			config.Client, config.ClientID = &http.Client{Transport: client}, c.id
			if c.id == oidctest.Public {
				config.ClientSecret = ""
			}
		})
		kept, query := s.begin()
		query.Set("code", "junk")
		if _, err := s.rp.Finish(t.Context(), callback, kept, query); err == nil {
			t.Errorf("%s: a junk code is taken", name)
		}
		if len(client.requests) != 1 {
			t.Fatalf("%s: %d requests for one code", name, len(client.requests))
		}
		_, _, basic := client.requests[0].BasicAuth()
		if basic != c.basic || !strings.Contains(client.bodies[0], c.inContent) || c.basic && strings.Contains(client.bodies[0], "secret") {
			t.Errorf("%s: basic %t, body %s", name, basic, client.bodies[0])
		}
	}
}
