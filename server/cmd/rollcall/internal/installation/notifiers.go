package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/email"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/channels/twilio"
	"github.com/rollcall-dev/rollcall/channels/webpush"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// NotifierFlags configure the delivery of alerts for all commands that send alerts.
type NotifierFlags struct {
	AllowPrivateNetworks bool `group:"Alerts:" help:"Let alerts reach loopback, private and link-local addresses. Without it, alerts to them fail."`
	ProxyAlerts          bool `group:"Alerts:" help:"Send alerts over HTTP through the proxy in HTTPS_PROXY or HTTP_PROXY, except to the hosts in NO_PROXY. The proxy must then keep them out of private networks, because this server cannot see where it connects. Mail and MQTT use no proxy."`
	EnableShell          bool `group:"Alerts:" help:"Let integrations of the kind shell run commands as the server's user. Without it, they fail."`

	MailFlags

	TwilioAccountSID string `group:"Alerts:" placeholder:"SID" help:"Twilio account for alerts of the kinds sms, whatsapp and call, unless the integration sets its own."`
	TwilioAuthToken  string `secret:"" group:"Alerts:" placeholder:"TOKEN" help:"Auth token of the Twilio account."`
	TwilioAPIKey     string `name:"twilio-api-key" group:"Alerts:" placeholder:"SID" help:"API key of the Twilio account, in place of its auth token."`
	TwilioAPISecret  string `name:"twilio-api-secret" secret:"" group:"Alerts:" placeholder:"TEXT" help:"Secret of the API key."`
	TwilioFrom       string `group:"Alerts:" placeholder:"NUMBER" help:"Sender of text messages: a phone number of the account, a short code or a name."`
	TwilioCallFrom   string `group:"Alerts:" placeholder:"NUMBER" help:"Phone number of the account that calls (default: --twilio-from, if it is a phone number)."`

	TwilioWhatsAppFrom       string `name:"twilio-whatsapp-from" group:"Alerts:" placeholder:"NUMBER" help:"Phone number of the account that sends WhatsApp messages."`
	TwilioWhatsAppContentSID string `name:"twilio-whatsapp-content-sid" group:"Alerts:" placeholder:"SID" help:"Content template of WhatsApp messages, with {{1}} for what happened and {{2}} for since when and why. Without it, they arrive only within 24 hours after the recipient has written."`

	TwilioMessagingServiceSID string `group:"Alerts:" placeholder:"SID" help:"Messaging service that chooses the sender of text messages, instead of --twilio-from."`

	// secret returns a secret of the installation. It is nil while the flags are validated.
	Secret func(ctx context.Context, name string) (string, error) `kong:"-"`
	// contact is where push services reach the operator: an https URL, or "".
	Contact string `kong:"-"`
	// unsubscribe returns the URL at which an address unsubscribes from an integration. It is nil without a server.
	Unsubscribe func(ctx context.Context, c channels.Channel, address string) string `kong:"-"`
}

// MailFlags configure the mail server.
type MailFlags struct {
	MailHost     string `group:"Alerts:" placeholder:"HOST" help:"Mail server for alerts of the kind email. Without it, they fail."`
	MailPort     int    `group:"Alerts:" placeholder:"PORT" help:"Port of the mail server (default 587; 465 with implicit TLS, 25 with opportunistic or no TLS)."`
	MailTLS      string `default:"starttls" enum:"starttls,implicit,opportunistic,none" group:"Alerts:" placeholder:"MODE" help:"Encryption to the mail server: starttls (required), implicit, opportunistic (STARTTLS if offered) or none."`
	MailUsername string `group:"Alerts:" placeholder:"NAME" help:"User name for the mail server."`
	MailPassword string `secret:"" group:"Alerts:" placeholder:"TEXT" help:"Password for the mail server."`

	MailOAuthTokenURL     string `name:"mail-oauth-token-url" group:"Alerts:" placeholder:"URL" help:"Token URL (OAuth 2.0, client credentials) for the mail server, in place of a password, such as https://login.microsoftonline.com/TENANT/oauth2/v2.0/token. The login is XOAUTH2, with --mail-username."`
	MailOAuthClientID     string `name:"mail-oauth-client-id" group:"Alerts:" placeholder:"ID" help:"Client for --mail-oauth-token-url."`
	MailOAuthClientSecret string `name:"mail-oauth-client-secret" secret:"" group:"Alerts:" placeholder:"TEXT" help:"Secret of the client."`
	MailOAuthScope        string `name:"mail-oauth-scope" group:"Alerts:" placeholder:"SCOPE" help:"Scope of the tokens, such as https://outlook.office365.com/.default."`
	MailOAuthTokenFile    string `name:"mail-oauth-token-file" group:"Alerts:" completion:"file" placeholder:"FILE" help:"File with an access token that another program keeps fresh, in place of --mail-oauth-token-url. It is read for each connection."`

	MailDKIMKey      string `name:"mail-dkim-key" group:"Alerts:" completion:"file" placeholder:"FILE" help:"PEM file with the private key (RSA or Ed25519) that signs mails by DKIM, for a mail server that does not."`
	MailDKIMSelector string `name:"mail-dkim-selector" group:"Alerts:" placeholder:"NAME" help:"Selector of the DKIM key: its DNS record is at NAME._domainkey.DOMAIN."`
	MailDKIMDomain   string `name:"mail-dkim-domain" group:"Alerts:" placeholder:"DOMAIN" help:"Domain of the DKIM key (default: the domain of --mail-from)."`

	MailFrom string `group:"Alerts:" placeholder:"ADDRESS" help:"Sender of the alerts, such as \"Rollcall <rollcall@example.org>\". Required with --mail-host."`
	MailHELO string `name:"mail-helo" group:"Alerts:" placeholder:"NAME" help:"Name in the greeting to the mail server (default: the full name of this host or, if it has a short one, the domain of --mail-from)."`
}

// PushSecret names the secret that the key for Web Push is made of.
const PushSecret = "webpush_key"

// Needs has the flag that the server lacks if it cannot deliver to integrations of a kind.
var Needs = map[channels.Kind]string{
	channels.Email: FlagMail, "shell": flagShell,
	channels.SMS: flagTwilio, channels.WhatsApp: flagTwilio, channels.Call: flagTwilio,
}

// namingFlags makes the errors of integrations that cannot be delivered to name the flag of the server.
func namingFlags(types []channels.Type) []channels.Type {
	for i, t := range types {
		if t.Notifier == nil && Needs[t.Kind] != "" {
			types[i].Missing += "; start it with " + Needs[t.Kind]
		}
		if t.Ready == nil {
			continue
		}
		types[i].Ready = func(ctx context.Context, settings map[string]string) error {
			switch flag, err := Lacks(ctx, t, settings); e := err.(type) {
			case *channels.NotConfiguredError:
				return &channels.NotConfiguredError{Kind: e.Kind, Missing: e.Missing + "; start the server with " + flag}
			case *channels.SettingError:
				return &channels.SettingError{Kind: e.Kind, Setting: e.Setting, Reason: e.Reason + "; start the server with " + flag + " to allow it"}
			default:
				return err
			}
		}
	}
	return types
}

// Lacks returns why a server cannot deliver to an integration with valid settings, and the flag that would change it.
func Lacks(ctx context.Context, t channels.Type, settings map[string]string) (flag string, err error) {
	if t.Notifier == nil && t.Kind != channels.Group {
		return Needs[t.Kind], &channels.NotConfiguredError{Kind: t.Kind, Missing: t.Missing}
	}
	if t.Ready != nil {
		err = t.Ready(ctx, settings)
	}
	if _, private := errors.AsType[*channels.SettingError](err); private {
		return flagPrivate, err
	}
	return Needs[t.Kind], err
}

// NeedsOf returns the flag without which a server cannot deliver to an integration, or "", and what is likely to go wrong with
// its settings.
func NeedsOf(ctx context.Context, c channels.Channel) (flag string, warning *channels.SettingError, err error) {
	types, err := standard.New(nil)
	if err != nil {
		return "", nil, err
	}
	for _, t := range types {
		if t.Kind != c.Kind {
			continue
		}
		if t.Warn != nil {
			warning = t.Warn(c.Settings)
		}
		if needed, err := Lacks(ctx, t, c.Settings); err != nil {
			flag = needed
		}
	}
	return flag, warning, nil
}

// Given reports whether a flag for alerts is set that has no default.
func (f NotifierFlags) Given() bool {
	return f.AllowPrivateNetworks || f.ProxyAlerts || f.EnableShell || f.MailHost != "" || f.TwilioAccountSID != ""
}

// Apply configures a monitor to deliver alerts.
func (f NotifierFlags) Apply(config *monitor.Config) error {
	c := standard.Config{AllowPrivateNetworks: f.AllowPrivateNetworks, EnableShell: f.EnableShell}
	if f.ProxyAlerts {
		proxy := httpproxy.FromEnvironment().ProxyFunc()
		c.Proxy = func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }
	}
	if f.MailHost != "" {
		var err error
		if c.Email, err = f.Mail(); err != nil {
			return console.Usage(err)
		}
		c.Email.Unsubscribe = f.Unsubscribe
	}
	if f.TwilioAccountSID != "" {
		c.Twilio = &twilio.Config{
			AccountSID: f.TwilioAccountSID, AuthToken: f.TwilioAuthToken, APIKey: f.TwilioAPIKey, APISecret: f.TwilioAPISecret,
			From: f.TwilioFrom, MessagingServiceSID: f.TwilioMessagingServiceSID, CallFrom: f.TwilioCallFrom,
			WhatsAppFrom: f.TwilioWhatsAppFrom, WhatsAppContentSID: f.TwilioWhatsAppContentSID,
		}
	}
	if f.Secret != nil {
		c.WebPush = &webpush.Config{
			Contact: f.Contact,
			Secret:  func(ctx context.Context) (string, error) { return f.Secret(ctx, PushSecret) },
		}
	}
	types, err := standard.New(&c)
	if err != nil {
		return console.Usage(namingSettings(err))
	}
	config.Channels = namingFlags(types)
	return nil
}

// mailFields are the fields of email.Config in its errors, with their flags.
var mailFields = map[string]string{
	"Host": "--mail-host", "HELO": "--mail-helo", "Port": "--mail-port", "TLS": "--mail-tls", "From": "--mail-from", "Username": "--mail-username",
	"Password": "--mail-password", "OAuth": "--mail-oauth-token-url", "TokenURL": "--mail-oauth-token-url", "File": "--mail-oauth-token-file",
	"ClientID": "--mail-oauth-client-id", "ClientSecret": "--mail-oauth-client-secret", "Scope": "--mail-oauth-scope",
	"Domain": "--mail-dkim-domain", "Selector": "--mail-dkim-selector", "Key": "--mail-dkim-key",
}

var (
	mailField     = regexp.MustCompile(`\b[A-Z]\w+`)
	twilioError   = regexp.MustCompile(`^(sms|whatsapp|call): (.*)`)
	twilioSetting = regexp.MustCompile(`^[a-z_]+|\b[a-z]+(?:_[a-z]+)+`)
)

// namingSettings returns an error of the configuration of notifiers with the flags in place of its fields.
func namingSettings(err error) error {
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, "the mail server: email: "); ok {
		said, value, _ := strings.Cut(rest, ":")
		said = mailField.ReplaceAllStringFunc(said, func(word string) string { return cmp.Or(mailFields[word], word) })
		return errors.New(strings.TrimSuffix(said+":"+value, ":"))
	}
	if found := twilioError.FindStringSubmatch(text); found != nil {
		return errors.New(twilioSetting.ReplaceAllStringFunc(found[2], func(setting string) string {
			if found[1] != string(channels.SMS) && setting == "from" || setting == "content_sid" {
				setting = found[1] + "_" + setting
			}
			return "--twilio-" + strings.ReplaceAll(setting, "_", "-")
		}))
	}
	return err
}

// Mail returns the configuration of the mail server.
func (f MailFlags) Mail() (*email.Config, error) {
	c := &email.Config{
		Host: f.MailHost, Port: f.MailPort, TLS: email.TLSMode(f.MailTLS),
		Username: f.MailUsername, Password: f.MailPassword, From: f.MailFrom, HELO: f.MailHELO,
	}
	if f.MailOAuthTokenURL != "" || f.MailOAuthTokenFile != "" {
		c.OAuth = &email.OAuth{
			TokenURL: f.MailOAuthTokenURL, ClientID: f.MailOAuthClientID, ClientSecret: f.MailOAuthClientSecret,
			Scope: f.MailOAuthScope, File: f.MailOAuthTokenFile,
		}
	}
	if f.MailDKIMKey == "" {
		return c, nil
	}
	file, err := console.ReadFile(f.MailDKIMKey)
	if err != nil {
		return nil, fmt.Errorf("--mail-dkim-key: %w", err)
	}
	key, err := email.ParseDKIMKey([]byte(file))
	if err != nil {
		return nil, fmt.Errorf("--mail-dkim-key: %w", err)
	}
	c.DKIM = &email.DKIM{Domain: f.MailDKIMDomain, Selector: f.MailDKIMSelector, Key: key}
	return c, nil
}

// needsMailHost reports whether a flag is set that means nothing without --mail-host.
func (f MailFlags) needsMailHost() bool {
	return f.MailPort != 0 || slices.ContainsFunc([]string{
		f.MailFrom, f.MailUsername, f.MailPassword, f.MailOAuthTokenURL, f.MailOAuthTokenFile, f.MailOAuthClientID,
		f.MailOAuthClientSecret, f.MailOAuthScope, f.MailDKIMKey, f.MailDKIMSelector, f.MailDKIMDomain, f.MailHELO,
	}, func(value string) bool { return value != "" })
}

// needsTwilioAccount reports whether a flag is set that means nothing without --twilio-account-sid.
func (f NotifierFlags) needsTwilioAccount() bool {
	return slices.ContainsFunc([]string{
		f.TwilioAuthToken, f.TwilioAPIKey, f.TwilioAPISecret, f.TwilioFrom, f.TwilioMessagingServiceSID, f.TwilioCallFrom,
		f.TwilioWhatsAppFrom, f.TwilioWhatsAppContentSID,
	}, func(value string) bool { return value != "" })
}

// Check checks the flags without using the network.
func (f NotifierFlags) Check() error {
	if err := f.CheckMail(); err != nil {
		return err
	}
	if f.TwilioAccountSID == "" && f.needsTwilioAccount() {
		return errors.New("--twilio-account-sid: is required by the other --twilio flags")
	}
	return cmp.Or(f.checkProxy(), f.Apply(new(monitor.Config)))
}

// checkProxy checks the variables that --proxy-alerts needs. Its errors do not show a URL, which may contain a password.
func (f NotifierFlags) checkProxy() error {
	set := httpproxy.FromEnvironment()
	switch {
	case !f.ProxyAlerts:
		return nil
	case set.HTTPSProxy == "" && set.HTTPProxy == "":
		return errors.New("--proxy-alerts: neither HTTPS_PROXY nor HTTP_PROXY is set")
	case !isProxy(set.HTTPSProxy):
		return errors.New("--proxy-alerts: HTTPS_PROXY is not a URL such as http://proxy.example.org:3128")
	case !isProxy(set.HTTPProxy):
		return errors.New("--proxy-alerts: HTTP_PROXY is not a URL such as http://proxy.example.org:3128")
	}
	return nil
}

// isProxy reports whether a value is "", a URL that package net/http takes for a proxy, or a host with an optional port. The
// package ignores other values, and alerts would go past the proxy.
func isProxy(value string) bool {
	if value != "" && !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := url.Parse(value)
	return value == "" || err == nil && u.Hostname() != "" && slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme)
}

// CheckMail checks the flags of the mail server without using the network.
func (f MailFlags) CheckMail() error {
	switch {
	case f.MailHost != "" && f.MailFrom == "":
		return errors.New("--mail-from: is required with --mail-host")
	case f.MailHost == "" && f.needsMailHost():
		return errors.New("--mail-host: is required by the other --mail flags")
	case f.MailOAuthTokenURL == "" && (f.MailOAuthClientID != "" || f.MailOAuthClientSecret != "" || f.MailOAuthScope != ""):
		return errors.New("--mail-oauth-token-url: is required by the other --mail-oauth flags")
	case f.MailDKIMKey == "" && (f.MailDKIMSelector != "" || f.MailDKIMDomain != ""):
		return errors.New("--mail-dkim-key: is required by the other --mail-dkim flags")
	case f.MailDKIMKey != "" && f.MailDKIMSelector == "":
		return errors.New("--mail-dkim-selector: is required with --mail-dkim-key")
	case strings.ContainsFunc(f.MailHELO, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("--mail-helo: is not the name of a host: %q", f.MailHELO)
	case f.MailPort < 0 || f.MailPort > 65535:
		return errors.New("--mail-port: must be 1 to 65535")
	}
	return nil
}
