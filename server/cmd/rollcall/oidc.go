package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels/email"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/oidc"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/passkey"
	"github.com/rollcall-dev/rollcall/server/people"
)

// signInFlags are the flags of serve for sign-in by an identity provider or a proxy.
type signInFlags struct {
	OIDCIssuer       string     `name:"oidc-issuer" group:"Signing in:" placeholder:"URL" help:"Issuer of an identity provider with OpenID Connect, exactly as the provider writes it. Register the redirect URI base URL + /signin/oidc/callback there."`
	OIDCClientID     string     `name:"oidc-client-id" group:"Signing in:" placeholder:"ID" help:"Client ID of this server at the identity provider."`
	OIDCClientSecret string     `name:"oidc-client-secret" secret:"" group:"Signing in:" placeholder:"TEXT" help:"Secret of the client. A public client has none."`
	OIDCRoles        []roleRule `name:"oidc-roles" group:"Signing in:" placeholder:"CLAIM:VALUE=ROLE@PROJECT" help:"Roles that the identity provider's claims give at each sign-in, separated by commas: owner, editor or viewer of a project, or of every project with @*; or admin, without a project. Examples: groups:ops=owner@payments and groups:root=admin. Default: owners give roles on the pages."`

	RequireMFA string `name:"require-mfa" default:"none" enum:"none,admins,all" group:"Signing in:" placeholder:"none|admins|all" help:"Who must use an authenticator app or a passkey beside a password: nobody, administrators, or all. Those without one set it up at their next sign-in, and can do nothing else before. It is not for who signs in with an identity provider, by a proxy or with API keys."`

	AuthHeader string `group:"Signing in:" placeholder:"NAME" help:"HTTP header with the e-mail address of the person that a proxy has signed in, such as Remote-Email. Rollcall believes it only from --trusted-proxies, which must remove it from the requests of clients."`

	EncryptionKey string `secret:"" group:"Signing in:" placeholder:"TEXT" help:"Key that encrypts the secrets of authenticator apps in the database, at least 16 characters, the same on all servers. Several, separated by commas, replace a key: the first encrypts, the others only decrypt. Default: a file beside the SQLite file, with .key after its name; on PostgreSQL --secret-key, or else a key in the database, which the log warns of."`
}

// accounts returns the accounts of people for the dashboard. It also starts a probe of the identity provider, so that the
// log shows early what people would see at their first sign-in.
func (f *signInFlags) accounts(ctx context.Context, known *people.People, byKey bool, baseURL console.Address, mail func(ctx context.Context, to, subject, text string) error, log *slog.Logger) (dashboard.Accounts, error) {
	config := &accounts.Config{KeySignIn: byKey, Header: f.AuthHeader, Mail: mail}
	provider, err := f.provider(log)
	if err != nil {
		return nil, err
	}
	if provider != nil {
		config.Provider = provider
		go func() {
			if _, _, err := provider.Begin(ctx, string(baseURL)+"/signin/oidc/callback"); err != nil && ctx.Err() == nil {
				component(log, "serve").Warn("the identity provider cannot be used, and nobody can sign in with it until it can; check the URL and the network", "flag", "--oidc-issuer", "issuer", f.OIDCIssuer, "error", err)
			}
		}()
	}
	if keys, err := passkey.New(string(baseURL)); err == nil {
		config.Passkeys = keys
	} else {
		component(log, "serve").Debug("no passkeys", "base_url", baseURL, "reason", err)
	}
	return accounts.New(known, config), nil
}

// newPeople creates the people of the installation.
func (s *service) newPeople() (err error) {
	config := &people.Config{Logger: s.log, URL: string(s.BaseURL), Keys: s.keys, SecondFactor: s.SignIn.demand()}
	if s.Notifiers.MailHost != "" {
		mail, err := s.Notifiers.Mail()
		if err != nil {
			return console.Usage(err)
		}
		s.sendMail = func(ctx context.Context, to, subject, text string) error {
			return email.Send(ctx, mail, to, subject, text)
		}
		config.Mail = s.sendMail
	}
	s.people, err = people.New(s.mon, config)
	return err
}

// encryptionKeys returns the keys of --encryption-key.
func (f *signInFlags) encryptionKeys() []string {
	if f.EncryptionKey == "" {
		return nil
	}
	return strings.Split(f.EncryptionKey, ",")
}

// keys returns the keys of the secrets of authenticator apps. It reads the file each time, because another server on the database
// may have created it.
func (s *service) keys(_ context.Context, create bool) (keys [][]byte, err error) {
	for _, key := range s.SignIn.encryptionKeys() {
		keys = append(keys, []byte(key))
	}
	file, err := s.database.Key(create && len(keys) == 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.database.KeyFile(), installation.Reason(err))
	}
	switch {
	case file != "":
		keys = append(keys, []byte(file))
	case s.database.URL != "" && s.SecretKey != "":
		keys = append(keys, []byte(s.SecretKey))
	case create && len(keys) == 0:
		s.keyInDatabase.Do(func() {
			component(s.log, "serve").Warn("the key of authenticator apps lies in the database, beside the secrets that it encrypts; keep it elsewhere", "flag", "--encryption-key")
		})
	}
	return keys, nil
}

// demand returns who must use a second factor.
func (f *signInFlags) demand() people.Demand {
	if f.RequireMFA == "none" {
		return people.OfNobody
	}
	return people.Demand(f.RequireMFA)
}

// roleRule is one rule of --oidc-roles.
type roleRule struct{ oidc.Rule }

// UnmarshalText reads a rule.
func (r *roleRule) UnmarshalText(text []byte) (err error) {
	r.Rule, err = oidc.ParseRule(string(text))
	return err
}

func (f *signInFlags) validate(trusted []proxy) error {
	if slices.ContainsFunc(f.encryptionKeys(), func(key string) bool { return len(key) < badges.MinSecret }) {
		return fmt.Errorf("--encryption-key: a key is too short, the minimum is %d bytes", badges.MinSecret)
	}
	if f.OIDCIssuer == "" {
		return cmp.Or(
			needsIssuer("--oidc-client-id", f.OIDCClientID != ""), needsIssuer("--oidc-client-secret", f.OIDCClientSecret != ""),
			needsIssuer("--oidc-roles", len(f.OIDCRoles) > 0), f.validateHeader(trusted),
		)
	}
	if f.OIDCClientID == "" {
		return errors.New("--oidc-client-id: is missing; register this server at the identity provider, which shows the ID")
	}
	_, err := f.provider(nil)
	return cmp.Or(err, f.validateHeader(trusted))
}

func needsIssuer(flag string, set bool) error {
	if !set {
		return nil
	}
	return fmt.Errorf("%s: needs --oidc-issuer, the address of the identity provider", flag)
}

// validateHeader refuses a header that anyone could send, and one with another meaning.
func (f *signInFlags) validateHeader(trusted []proxy) error {
	name := textproto.CanonicalMIMEHeaderKey(f.AuthHeader)
	switch {
	case name == "":
		return nil
	case !httpguts.ValidHeaderFieldName(f.AuthHeader):
		return fmt.Errorf("--auth-header: %q is not the name of an HTTP header, such as Remote-Email", f.AuthHeader)
	case strings.HasPrefix(strings.ToUpper(name), "HTTP_"):
		return fmt.Errorf("--auth-header: write the name as it stands in HTTP: %s", strings.ReplaceAll(f.AuthHeader[len("HTTP_"):], "_", "-"))
	case name == "Cookie" || name == "Host" || name == "Authorization" || name == "X-Api-Key" || strings.HasPrefix(name, "X-Forwarded-") && name != "X-Forwarded-Email" && name != "X-Forwarded-User":
		return fmt.Errorf("--auth-header: %s has another meaning; let the proxy send the e-mail address in a header of its own, such as Remote-Email", name)
	case len(trusted) == 0:
		return errors.New("--auth-header: needs --trusted-proxies, the networks of the proxy: without them, anyone could send the header")
	}
	return nil
}

// privateNetworks are those of home and company networks, whose addresses nobody has on the Internet.
var privateNetworks = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("fe80::/10"),
}

// strangers returns the trusted networks in which anybody may have an address: public ones wider than /12, or /24 of IPv6. Those of
// content delivery networks are smaller.
func strangers(trusted []proxy) (wide []string) {
	for _, network := range trusted {
		addr, bits, fewest := network.Addr(), network.Bits(), 24
		if addr.Is4In6() && bits >= 96 {
			addr, bits = addr.Unmap(), bits-96
		}
		if addr.Is4() {
			fewest = 12
		}
		within := func(p netip.Prefix) bool { return p.Contains(addr) && bits >= p.Bits() }
		if bits < fewest && !slices.ContainsFunc(privateNetworks, within) {
			wide = append(wide, network.String())
		}
	}
	return wide
}

// warn says that strangers can sign in as anybody.
func (f *signInFlags) warn(log *slog.Logger, trusted []proxy) {
	if wide := strangers(trusted); f.AuthHeader != "" && len(wide) > 0 {
		component(log, "serve").Warn("anyone with an address in these networks can sign in as anyone; name only the proxy itself", "flag", "--trusted-proxies", "networks", strings.Join(wide, ","), "header", f.AuthHeader)
	}
}

// provider returns the identity provider, or nil.
func (f *signInFlags) provider(log *slog.Logger) (*oidc.Provider, error) {
	if f.OIDCIssuer == "" {
		return nil, nil
	}
	rules := make([]oidc.Rule, len(f.OIDCRoles))
	for i, r := range f.OIDCRoles {
		rules[i] = r.Rule
	}
	provider, err := oidc.New(oidc.Config{
		Issuer: f.OIDCIssuer, ClientID: f.OIDCClientID, ClientSecret: f.OIDCClientSecret,
		Roles: rules, Logger: log,
	})
	if err != nil {
		return nil, fmt.Errorf("--oidc-issuer: %s", strings.TrimPrefix(err.Error(), "oidc: Issuer: "))
	}
	return provider, nil
}
