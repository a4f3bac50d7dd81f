package twilio_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/twilio"
)

const secret = "s3cretS3cret"

func kinds(t *testing.T) []channels.Type {
	t.Helper()
	types, err := twilio.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func TestValidatePhones(t *testing.T) {
	type settings = map[string]string
	account := "AC" + strings.Repeat("0f", 16)
	key := "SK" + strings.Repeat("3c", 16)
	service := "MG" + strings.Repeat("A1", 16)
	with := func(more settings) settings {
		all := settings{"to": "+37120000000", "account_sid": account, "auth_token": secret}
		maps.Copy(all, more)
		return all
	}
	const sender = "sms: from is not a phone number, a short code, or a name of at most 11 letters, digits and spaces"
	tests := []struct {
		name  string
		given settings
		err   string
	}{
		{"account of the server", settings{"to": "+37120000000"}, ""},
		{"number", with(settings{"from": "+37129999999"}), ""},
		{"short code", with(settings{"from": "12345"}), ""},
		{"name", with(settings{"from": "Rollcall 24"}), ""},
		{"service", with(settings{"messaging_service_sid": service}), ""},
		{"name too long", with(settings{"from": "Rollcall 247"}), sender},
		{"name with other letters", with(settings{"from": "Žurka"}), sender},
		{"name of blanks", with(settings{"from": "   "}), sender},
		{"long code", with(settings{"from": "123456789"}), sender},
		{"name with a sign", with(settings{"from": "a&To=+1"}), sender},
		{"short account", with(settings{"from": "x", "account_sid": "AC1"}), "sms: account_sid is not AC and 32 hexadecimal digits"},
		{"account of another type", with(settings{"from": "x", "account_sid": service}), "sms: account_sid is not AC and 32 hexadecimal digits"},
		{"path as account", with(settings{"from": "x", "account_sid": "AC" + strings.Repeat("/", 32)}),
			"sms: account_sid is not AC and 32 hexadecimal digits"},
		{"wrong service", with(settings{"messaging_service_sid": account}), "sms: messaging_service_sid is not MG and 32 hexadecimal digits"},
		{"token with a blank", with(settings{"from": "x", "auth_token": "two words"}),
			"sms: auth_token contains a space, a control character or a non-ASCII character"},
		{"no token", with(settings{"from": "x", "auth_token": ""}), "sms: auth_token is missing, account_sid needs it or api_key"},
		{"API key", with(settings{"auth_token": "", "api_key": key, "api_secret": secret, "from": "x"}), ""},
		{"API key and token", with(settings{"api_key": key, "api_secret": secret, "from": "x"}),
			"sms: auth_token cannot be combined with api_key and api_secret"},
		{"API key without its secret", with(settings{"auth_token": "", "api_key": key, "from": "x"}), "sms: api_secret is missing, api_key needs it"},
		{"secret without its API key", with(settings{"auth_token": "", "api_secret": secret, "from": "x"}),
			"sms: api_key is missing, api_secret needs it"},
		{"account as API key", with(settings{"auth_token": "", "api_key": account, "api_secret": secret, "from": "x"}),
			"sms: api_key is not SK and 32 hexadecimal digits"},
		{"API key without an account", settings{"to": "+37120000000", "api_key": key, "api_secret": secret},
			"sms: account_sid is missing, api_key needs it"},
		{"no account", with(settings{"from": "x", "account_sid": ""}), "sms: account_sid is missing, auth_token needs it"},
		{"no sender", with(nil), "sms: from and messaging_service_sid are both missing, account_sid needs one"},
		{"two senders", with(settings{"from": "x", "messaging_service_sid": service}),
			"sms: from cannot be combined with messaging_service_sid"},
		{"sender alone", settings{"to": "+37120000000", "from": "x"}, "sms: account_sid is missing, from needs it"},
		{"service alone", settings{"to": "+37120000000", "messaging_service_sid": service},
			"sms: account_sid is missing, messaging_service_sid needs it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := channels.Validate(kinds(t), channels.SMS, tt.given, nil)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tt.err, text); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValidateWhatsAppAndCalls(t *testing.T) {
	type settings = map[string]string
	account := settings{"to": "+37120000000", "account_sid": "AC" + strings.Repeat("0f", 16), "auth_token": secret, "from": "+37129999999"}
	with := func(more settings) settings {
		all := maps.Clone(account)
		maps.Copy(all, more)
		return all
	}
	template := "HX" + strings.Repeat("7e", 16)
	tests := []struct {
		name  string
		kind  channels.Kind
		given settings
		err   string
	}{
		{"account of the server", channels.WhatsApp, settings{"to": "+37120000000"}, ""},
		{"free text", channels.WhatsApp, account, ""},
		{"template", channels.WhatsApp, with(settings{"content_sid": template, "content_variables": `{"name": "$NAME"}`}), ""},
		{"name as sender", channels.WhatsApp, with(settings{"from": "Rollcall"}),
			"whatsapp: from is not a phone number: + and 7 to 15 digits, such as +37120000000"},
		{"no template", channels.WhatsApp, with(settings{"content_sid": "MG" + strings.Repeat("7e", 16)}),
			"whatsapp: content_sid is not HX and 32 hexadecimal digits"},
		{"template in the account of the server", channels.WhatsApp, settings{"to": "+37120000000", "content_sid": template},
			"whatsapp: account_sid is missing, content_sid needs it"},
		{"variables alone", channels.WhatsApp, with(settings{"content_variables": `{"1": "x"}`}),
			"whatsapp: content_sid is missing, content_variables needs it"},
		{"variables that are no texts", channels.WhatsApp, with(settings{"content_sid": template, "content_variables": `{"1": 2}`}),
			`whatsapp: content_variables is not a JSON object of texts, such as {"1": "$TITLE", "2": "$TEXT"}`},
		{"call", channels.Call, account, ""},
		{"account of the server", channels.Call, settings{"to": "+37120000000"}, ""},
		{"short code as caller", channels.Call, with(settings{"from": "12345"}),
			"call: from is not a phone number: + and 7 to 15 digits, such as +37120000000"},
		{"no caller", channels.Call, with(settings{"from": ""}), "call: from is missing, account_sid needs it"},
		{"messaging service", channels.Call, with(settings{"messaging_service_sid": "MG" + strings.Repeat("7e", 16)}),
			"call: messaging_service_sid is not a setting of this kind, which has to, account_sid, auth_token, api_key, api_secret, from, notify"},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind)+" "+tt.name, func(t *testing.T) {
			_, err := channels.Validate(kinds(t), tt.kind, tt.given, nil)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tt.err, text); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPrimary: a form shows the account where the server has none.
func TestPrimary(t *testing.T) {
	primary := func(types []channels.Type) (names []string) {
		for _, s := range types[0].Settings {
			if s.Primary {
				names = append(names, s.Name)
			}
		}
		return names
	}
	if diff := cmp.Diff([]string{"account_sid", "auth_token", "from"}, primary(kinds(t))); diff != "" {
		t.Error(diff)
	}
	types, err := twilio.New(&twilio.Config{AccountSID: "AC" + strings.Repeat("0f", 16), AuthToken: secret, From: "+37129999999"})
	if err != nil {
		t.Fatal(err)
	}
	if names := primary(types); names != nil {
		t.Errorf("shown although the server has an account: %v", names)
	}
}
