// Package oidctest runs an identity provider for tests: package op of zitadel/oidc, with people of its own and with faults.
package oidctest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"html/template"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// Clients of the provider. Public has no secret.
const (
	ClientID = "rollcall"
	Secret   = "secret-of-the-client"
	Public   = "rollcall-public"
)

// Password is that of everybody at the provider.
const Password = "password-at-the-provider"

// Person is a person at the provider, who signs in there with the e-mail address.
type Person struct {
	Subject, Email, Name string
	Unverified           bool
	Groups               []string
}

// Provider is a running provider.
type Provider struct {
	Issuer string
	store  *store

	mu     sync.Mutex
	faults Faults
}

// Faults are what is wrong with a provider.
type Faults struct {
	// Down makes it answer 503, and Hang nothing until the client leaves.
	Down, Hang bool
	// Claims changes the claims of an ID token before it is signed.
	Claims func(map[string]any)
	// Forge signs ID tokens with a key that the provider does not have.
	Forge bool
	// Deny refuses everyone who signs in.
	Deny bool
}

// New starts a provider whose clients have this redirect URL.
func New(t testing.TB, redirectURL string, people ...Person) *Provider {
	t.Helper()
	p := &Provider{store: &store{people: map[string]Person{}}}
	for _, who := range people {
		p.Set(who)
	}
	p.Rotate()
	p.store.Storage = storage.NewStorageWithClients(users{p.store}, map[string]*storage.Client{
		ClientID: storage.WebClient(ClientID, Secret, redirectURL),
		Public:   storage.NativeClient(Public, redirectURL),
	})
	web := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(web.Close)
	p.Issuer = web.URL
	return p
}

// Set adds or changes a person.
func (p *Provider) Set(who Person) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.store.people[who.Subject] = who
}

// Fail sets what is wrong.
func (p *Provider) Fail(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
}

// Rotate replaces the key that signs.
func (p *Provider) Rotate() {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.store.key = &signingKey{id: rand.Text(), key: key}
}

var loginPage = template.Must(template.New("").Parse(`<!DOCTYPE html><html lang="en"><title>Provider</title>
<link rel="icon" href="data:,"><form method="post"><input name="id" type="hidden" value="{{.}}"><input name="email"><input name="password" type="password">
<button>Sign in</button></form></html>`))

// serve answers as the provider.
func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	faults := p.faults
	p.mu.Unlock()
	if faults.Hang {
		<-r.Context().Done()
		return
	}
	if faults.Down {
		http.Error(w, "maintenance", http.StatusServiceUnavailable)
		return
	}
	config := &op.Config{CryptoKey: sha256.Sum256([]byte(ClientID)), CodeMethodS256: true, AuthMethodPost: true}
	provider, err := op.NewProvider(config, p.store, op.StaticIssuer(p.Issuer), op.WithAllowInsecure())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	switch r.URL.Path {
	case "/login/username":
		p.login(w, r, provider, faults.Deny)
	case "/oauth/token":
		answer := httptest.NewRecorder()
		provider.ServeHTTP(answer, r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(p.spoil(answer.Body.Bytes(), faults))
	default:
		provider.ServeHTTP(w, r)
	}
}

// login is the page on which people sign in at the provider.
func (p *Provider) login(w http.ResponseWriter, r *http.Request, provider *op.Provider, deny bool) {
	id := r.FormValue("authRequestID")
	if r.Method == http.MethodPost {
		request, err := p.store.AuthRequestByID(r.Context(), r.PostFormValue("id"))
		if err == nil && deny {
			http.Redirect(w, r, request.GetRedirectURI()+"?error=access_denied&error_description=not+in+the+group&state="+request.GetState(), http.StatusFound)
			return
		}
		if err := p.store.CheckUsernamePassword(r.PostFormValue("email"), r.PostFormValue("password"), r.PostFormValue("id")); err == nil {
			callback := op.NewIssuerInterceptor(provider.IssuerFromRequest).HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, op.AuthCallbackURL(provider)(r.Context(), r.PostFormValue("id")), http.StatusFound)
			})
			callback(w, r)
			return
		}
	}
	_ = loginPage.Execute(w, id)
}

// spoil changes the ID token in an answer.
func (p *Provider) spoil(answer []byte, faults Faults) []byte {
	var document map[string]any
	if faults.Claims == nil && !faults.Forge || json.Unmarshal(answer, &document) != nil || document["id_token"] == nil {
		return answer
	}
	p.store.mu.Lock()
	key := *p.store.key
	p.store.mu.Unlock()
	token, err := jose.ParseSigned(document["id_token"].(string), []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		panic(err)
	}
	claims := map[string]any{}
	if err := json.Unmarshal(token.UnsafePayloadWithoutVerification(), &claims); err != nil {
		panic(err)
	}
	if faults.Claims != nil {
		faults.Claims(claims)
	}
	if faults.Forge {
		if key.key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			panic(err)
		}
	}
	payload, _ := json.Marshal(claims) // was JSON before
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key.key, KeyID: key.id}}, nil)
	if err != nil {
		panic(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		panic(err)
	}
	document["id_token"], _ = signed.CompactSerialize() // it has one signature
	answer, _ = json.Marshal(document)
	return answer
}
