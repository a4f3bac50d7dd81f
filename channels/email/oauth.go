package email

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// OAuth says where the access tokens come from with which Config.Username logs in by XOAUTH2: from a token URL or from a
// file. Exchange Online accepts no passwords; see
// https://learn.microsoft.com/en-us/exchange/client-developer/legacy-protocols/how-to-authenticate-an-imap-pop-smtp-application-by-using-oauth
type OAuth struct {
	// TokenURL issues tokens by the client credentials grant (RFC 6749, section 4.4). That of Microsoft is
	// https://login.microsoftonline.com/TENANT/oauth2/v2.0/token. A token is used until shortly before it expires, or until
	// the mail server refuses it.
	TokenURL string
	// ClientID and ClientSecret are the credentials of the client.
	ClientID, ClientSecret string
	// Scope is what the token is for, several separated by spaces. That of Exchange Online is
	// https://outlook.office365.com/.default.
	Scope string
	// File holds a token that another program keeps fresh. It is read for each connection.
	File string
	// Client makes the requests for tokens. It may reach private networks, since the administrator chooses TokenURL.
	// It follows no redirect, which would get ClientSecret. Default: a client with a timeout of 30 seconds.
	Client *http.Client
}

// validate checks the configuration without using the network.
func (o *OAuth) validate() error {
	u, err := url.Parse(o.TokenURL)
	switch {
	case (o.TokenURL == "") == (o.File == ""):
		return errors.New("email: OAuth needs either TokenURL or File")
	case o.File != "" && (o.ClientID != "" || o.ClientSecret != "" || o.Scope != ""):
		return errors.New("email: OAuth with a File needs no ClientID, ClientSecret or Scope")
	case o.File != "":
		return nil
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return errors.New("email: TokenURL of OAuth is not an http:// or https:// URL")
	case o.ClientID == "" || o.ClientSecret == "":
		return errors.New("email: TokenURL of OAuth needs ClientID and ClientSecret")
	}
	return nil
}

// tokens gets access tokens and keeps one while it is valid.
type tokens struct {
	config OAuth
	source clientcredentials.Config
	last   chan *oauth2.Token // holds the token, nil before the first; taken while one is fetched
}

// newTokens returns nil if o is nil.
func newTokens(o *OAuth) *tokens {
	if o == nil {
		return nil
	}
	t := &tokens{config: *o, last: make(chan *oauth2.Token, 1)}
	t.source = clientcredentials.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: o.TokenURL, Scopes: strings.Fields(o.Scope),
	}
	client := *cmp.Or(o.Client, outbound.New(&outbound.Config{AllowPrivateNetworks: true}))
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.config.Client = &client
	t.last <- nil
	return t
}

func (t *tokens) get(ctx context.Context) (string, error) {
	if t.config.File != "" {
		text, err := readToken(t.config.File)
		if err != nil {
			return "", fmt.Errorf("read the access token for the mail server: %w", err)
		}
		token := strings.TrimSpace(string(text))
		if token == "" || hasControl(token) {
			return "", fmt.Errorf("the file %s does not hold one access token", t.config.File)
		}
		return token, nil
	}
	var token *oauth2.Token
	select {
	case token = <-t.last:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { t.last <- token }()
	if token.Valid() {
		return token.AccessToken, nil
	}
	fresh, err := t.source.Token(context.WithValue(ctx, oauth2.HTTPClient, t.config.Client))
	if err != nil {
		return "", outbound.Clean(fmt.Errorf("get an access token for the mail server: %w", outbound.Redact(err, t.config.ClientSecret)))
	}
	token = fresh
	return token.AccessToken, nil
}

// maxToken bounds the file of an access token, in bytes.
const maxToken = 64 << 10

// readToken reads a regular file: the writer of a named pipe may never come.
func readToken(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxToken:
		return nil, fmt.Errorf("%s is too large for an access token: the maximum is %d bytes", path, maxToken)
	}
	return os.ReadFile(path)
}

// forget drops a token that the mail server refused: it may lack a permission that was granted since.
func (t *tokens) forget(refused string) {
	token := <-t.last
	if token != nil && token.AccessToken == refused {
		token.Expiry = time.Unix(1, 0)
	}
	t.last <- token
}
