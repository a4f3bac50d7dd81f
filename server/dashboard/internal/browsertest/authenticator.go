package browsertest

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// Authenticator keeps the passkeys of a page.
type Authenticator struct {
	page *Page
	id   webauthn.AuthenticatorID
}

// Authenticator gives the page a place for passkeys that knows its user, as a phone does.
func (p *Page) Authenticator() *Authenticator {
	p.t.Helper()
	a := &Authenticator{page: p}
	p.run("add an authenticator", func(ctx context.Context) error {
		if _, err := chromedp.Call(ctx, webauthn.Enable, webauthn.EnableParams{}); err != nil {
			return err
		}
		added, err := chromedp.Call(ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{
			Options: &webauthn.VirtualAuthenticatorOptions{
				Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
				HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
			},
		})
		a.id = added.AuthenticatorID
		return err
	})
	return a
}

// Verify sets whether the authenticator knows its user from now on.
func (a *Authenticator) Verify(knows bool) {
	a.page.t.Helper()
	a.page.run("verify the user", func(ctx context.Context) error {
		return call(ctx, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: a.id, IsUserVerified: knows})
	})
}

// Rewind replaces the passkeys by copies whose counters begin again, as somebody has who has stolen them.
func (a *Authenticator) Rewind() {
	a.page.t.Helper()
	a.page.run("copy the passkeys", func(ctx context.Context) error {
		found, err := chromedp.Call(ctx, webauthn.GetCredentials, webauthn.GetCredentialsParams{AuthenticatorID: a.id})
		if err == nil {
			err = call(ctx, webauthn.ClearCredentials, webauthn.ClearCredentialsParams{AuthenticatorID: a.id})
		}
		// Not AddCredentialParams: they name an option that this kind of authenticator refuses.
		add := cdp.Command[map[string]any, cdp.Empty]{Method: webauthn.CommandAddCredential}
		for _, key := range found.Credentials {
			if err == nil {
				err = call(ctx, add, map[string]any{"authenticatorId": a.id, "credential": map[string]any{
					"credentialId": key.CredentialID, "isResidentCredential": true, "rpId": key.RpID, "privateKey": key.PrivateKey,
					"userHandle": key.UserHandle, "signCount": 0,
				}})
			}
		}
		return err
	})
}

// call calls a command without a result.
func call[P any](ctx context.Context, command cdp.Command[P, cdp.Empty], params P) error {
	_, err := chromedp.Call(ctx, command, params)
	return err
}
