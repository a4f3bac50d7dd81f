package main

import (
	"errors"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/email"
	"github.com/rollcall-dev/rollcall/channels/sms"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// notifierFlags configure the delivery of alerts for all commands that send alerts.
type notifierFlags struct {
	AllowPrivateNetworks bool `group:"Alerts:" help:"Let alerts reach loopback, private and link-local addresses. Without it, alerts to them fail."`
	EnableShell          bool `group:"Alerts:" help:"Let integrations of the kind shell run their commands, as the user of the server. Without it, they fail."`

	MailHost     string `group:"Alerts:" placeholder:"HOST" help:"Mail server for alerts of the kind email. Without it, they fail."`
	MailPort     int    `group:"Alerts:" placeholder:"PORT" help:"Port of the mail server (default 587; 465 with implicit TLS, 25 with opportunistic or no TLS)."`
	MailTLS      string `default:"starttls" enum:"starttls,implicit,opportunistic,none" group:"Alerts:" placeholder:"MODE" help:"Encryption to the mail server: starttls (required), implicit, opportunistic (STARTTLS if offered) or none."`
	MailUsername string `group:"Alerts:" placeholder:"NAME" help:"User name for the mail server."`
	MailPassword string `secret:"" group:"Alerts:" placeholder:"TEXT" help:"Password for the mail server."`
	MailFrom     string `group:"Alerts:" placeholder:"ADDRESS" help:"Sender of the alerts, such as \"Rollcall <rollcall@example.org>\". Required with --mail-host."`

	TwilioAccountSID string `group:"Alerts:" placeholder:"SID" help:"Twilio account for alerts of the kind sms, unless the integration sets its own."`
	TwilioAuthToken  string `secret:"" group:"Alerts:" placeholder:"TOKEN" help:"Auth token of the Twilio account."`
	TwilioFrom       string `group:"Alerts:" placeholder:"NUMBER" help:"Sender of text messages: a phone number of the account, a short code or a name."`

	TwilioMessagingServiceSID string `group:"Alerts:" placeholder:"SID" help:"Messaging service that chooses the sender of text messages, instead of --twilio-from."`
}

// channelKinds returns all kinds of integrations.
func channelKinds() []channels.KindInfo { return standard.Kinds() }

// apply configures a monitor to deliver alerts.
func (f notifierFlags) apply(config *monitor.Config) error {
	c := standard.Config{AllowPrivateNetworks: f.AllowPrivateNetworks, EnableShell: f.EnableShell}
	if f.MailHost != "" {
		c.Email = &email.Config{
			Host: f.MailHost, Port: f.MailPort, TLS: email.TLSMode(f.MailTLS),
			Username: f.MailUsername, Password: f.MailPassword, From: f.MailFrom,
		}
	}
	if f.TwilioAccountSID != "" {
		c.SMS = &sms.Config{
			AccountSID: f.TwilioAccountSID, AuthToken: f.TwilioAuthToken,
			From: f.TwilioFrom, MessagingServiceSID: f.TwilioMessagingServiceSID,
		}
	}
	notifiers, err := standard.New(&c)
	if err != nil {
		return usageError{err}
	}
	config.Kinds, config.Notifiers = channelKinds(), notifiers
	return nil
}

// validate checks the flags without using the network.
func (f notifierFlags) validate() error {
	switch {
	case f.MailHost != "" && f.MailFrom == "":
		return errors.New("--mail-from: is required with --mail-host")
	case f.MailHost == "" && (f.MailFrom != "" || f.MailUsername != "" || f.MailPassword != "" || f.MailPort != 0):
		return errors.New("--mail-host: is required by the other --mail flags")
	case f.MailPort < 0 || f.MailPort > 65535:
		return errors.New("--mail-port: must be 1 to 65535")
	case f.TwilioAccountSID == "" && (f.TwilioAuthToken != "" || f.TwilioFrom != "" || f.TwilioMessagingServiceSID != ""):
		return errors.New("--twilio-account-sid: is required by the other --twilio flags")
	}
	return f.apply(new(monitor.Config))
}
