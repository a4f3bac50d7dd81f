package email_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/email"
)

const clientSecret = "cl1ent~secret"

// tokenServer issues access tokens by the client credentials grant, as
// https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow describes. It makes each
// token known to the mail server, and tells clients that it lives for some seconds.
func tokenServer(t *testing.T, mail *server, lifetime int) (oauth *email.OAuth, issued *int) {
	t.Helper()
	issued = new(int)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		id, secret, ok := r.BasicAuth()
		if !ok {
			id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
		}
		switch {
		case r.Method != "POST" || r.PostFormValue("grant_type") != "client_credentials":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"unsupported_grant_type"}`)
		case r.PostFormValue("scope") != "https://outlook.office365.com/.default":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_scope","error_description":"AADSTS70011: The provided value for scope is not valid"}`)
		case id != "client-id" || secret != "cl1ent~secret" && secret != "cl1ent%7Esecret":
			w.WriteHeader(http.StatusUnauthorized)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret provided: " + secret})
		default:
			*issued++
			token := fmt.Sprint("t0ken-", *issued)
			mail.mu.Lock()
			mail.tokens = append(mail.tokens, token)
			mail.mu.Unlock()
			_ = json.NewEncoder(w).Encode(map[string]any{"token_type": "Bearer", "expires_in": lifetime, "access_token": token})
		}
	}))
	t.Cleanup(web.Close)
	return &email.OAuth{
		TokenURL: web.URL, ClientID: "client-id", ClientSecret: clientSecret, Scope: "https://outlook.office365.com/.default",
		Client: web.Client(),
	}, issued
}

func TestOAuth(t *testing.T) {
	s := start(t, email.StartTLS)
	s.tokens = []string{}
	oauth, issued := tokenServer(t, s, 3600)
	n := s.notifier(t, func(c *email.Config) { c.Username, c.OAuth = "rollcall@example.org", oauth })
	send := func() error { return n.Notify(t.Context(), channel("a@example.org, b@example.org"), down()) }
	for range 2 {
		if err := send(); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "logins", s.logins, []string{"XOAUTH2 t0ken-1", "XOAUTH2 t0ken-1"})

	// A token that is refused is not used again.
	s.mu.Lock()
	s.tokens = []string{}
	s.mu.Unlock()
	err := send()
	if !strings.Contains(text(err), "5.7.3 Authentication unsuccessful") || channels.IsPermanent(err) || strings.Contains(text(err), "t0ken") {
		t.Error(err)
	}
	if err := send(); err != nil || *issued != 2 {
		t.Errorf("%d tokens, %v", *issued, err)
	}
}

// TestOAuthExpiry checks that a token is not used once it is about to expire.
func TestOAuthExpiry(t *testing.T) {
	s := start(t, email.ImplicitTLS)
	s.tokens = []string{}
	oauth, _ := tokenServer(t, s, 5)
	n := s.notifier(t, func(c *email.Config) { c.Username, c.OAuth = "rollcall@example.org", oauth })
	for range 2 {
		if err := n.Notify(t.Context(), channel("a@example.org"), down()); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "logins", s.logins, []string{"XOAUTH2 t0ken-1", "XOAUTH2 t0ken-2"})
}

func TestOAuthRefused(t *testing.T) {
	s := start(t, email.StartTLS)
	s.tokens = []string{}
	for want, change := range map[string]func(*email.OAuth){
		`get an access token for the mail server: oauth2: "invalid_client" "AADSTS7000215: Invalid client secret provided: ***"`:    func(o *email.OAuth) { o.ClientSecret = "wr0ng-s3cret" },
		`get an access token for the mail server: oauth2: "invalid_scope" "AADSTS70011: The provided value for scope is not valid"`: func(o *email.OAuth) { o.Scope = "smtp" },
	} {
		oauth, _ := tokenServer(t, s, 3600)
		change(oauth)
		n := s.notifier(t, func(c *email.Config) { c.Username, c.OAuth = "rollcall@example.org", oauth })
		err := n.Notify(t.Context(), channel("a@example.org"), down())
		equal(t, "error", text(err), want)
		equal(t, "permanent", channels.IsPermanent(err), false)
	}
}

// TestOAuthRedirect checks that the secret of the client goes to the token URL alone, also if that redirects.
func TestOAuthRedirect(t *testing.T) {
	s := start(t, email.StartTLS)
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(other.Close)
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		web := httptest.NewServer(http.RedirectHandler(other.URL, status))
		t.Cleanup(web.Close)
		for _, client := range []*http.Client{nil, web.Client()} {
			oauth := &email.OAuth{TokenURL: web.URL, ClientID: "client-id", ClientSecret: clientSecret, Client: client}
			n := s.notifier(t, func(c *email.Config) { c.Username, c.OAuth = "rollcall@example.org", oauth })
			if err := n.Notify(t.Context(), channel("a@example.org"), down()); !strings.Contains(text(err), http.StatusText(status)) {
				t.Errorf("status %d: %v", status, err)
			}
		}
	}
	if reached {
		t.Error("the request was repeated at another origin")
	}
}

// TestOAuthFile checks that a token is read from its file for each connection.
func TestOAuthFile(t *testing.T) {
	s := start(t, email.StartTLS)
	s.tokens = []string{"first", "second"}
	file := filepath.Join(t.TempDir(), "token")
	n := s.notifier(t, func(c *email.Config) { c.Username, c.OAuth = "rollcall@example.org", &email.OAuth{File: file} })
	if err := n.Notify(t.Context(), channel("a@example.org"), down()); err == nil || channels.IsPermanent(err) {
		t.Error(err)
	}
	for _, token := range []string{"first\n", "second"} {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := n.Notify(t.Context(), channel("a@example.org"), down()); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "logins", s.logins, []string{"XOAUTH2 first", "XOAUTH2 second"})
}
