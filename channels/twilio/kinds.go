package twilio

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
)

func smsKind() channels.Type {
	return channels.Type{
		Kind: channels.SMS, Title: "Text message", Category: channels.CategoryMail, Combines: true,
		Doc:   "Sends a text message to a phone through Twilio. " + accountDoc,
		Setup: accountSetup,
		Settings: append(phoneSettings(),
			channels.Setting{
				Name: "from",
				Doc: "The sender: a phone number of the account in international form, a short code, " +
					"or a name of at most 11 letters, digits and spaces.",
				KeepsSecrets: true,
				Check:        checkSender,
			},
			serviceSetting(),
		),
		Check: func(settings map[string]string) *channels.SettingError { return checkAccount(settings, true) },
	}
}

func whatsAppKind() channels.Type {
	return channels.Type{
		Kind: channels.WhatsApp, Title: "WhatsApp", Category: channels.CategoryMail, Combines: true,
		Doc: "Sends a WhatsApp message through Twilio. WhatsApp delivers free text only for 24 hours after the recipient has " +
			"written to the sender; at any other time it needs a template, content_sid. " + accountDoc,
		Setup: accountSetup,
		Settings: append(phoneSettings(),
			channels.Setting{
				Name:         "from",
				Doc:          "The WhatsApp sender of the account: its phone number in international form.",
				KeepsSecrets: true,
				Check:        checkPhone,
			},
			serviceSetting(),
			channels.Setting{
				Name: "content_sid",
				Doc: "The approved content template for alerts: HX and 32 hexadecimal digits. Without it, alerts are free text. " +
					"The server may have one for its account.",
				KeepsSecrets: true,
				Check:        checkSID("HX"),
			},
			channels.Setting{
				Name: "content_variables",
				Doc: "The variables of the template, a JSON object of texts in which $TITLE stands for what happened, $TEXT for since " +
					"when and why, $NAME for the check, $STATUS for up or down, and $REASON for why. " +
					`Without it: {"1": "$TITLE", "2": "$TEXT"}.`,
				Lines: true, KeepsSecrets: true,
				Check: checkVariables,
			},
		),
		Check: func(settings map[string]string) *channels.SettingError {
			switch {
			case settings["content_sid"] != "" && settings["account_sid"] == "":
				return &channels.SettingError{Setting: "account_sid", Reason: "is missing, content_sid needs it"}
			case settings["content_variables"] != "" && settings["content_sid"] == "":
				return &channels.SettingError{Setting: "content_sid", Reason: "is missing, content_variables needs it"}
			}
			return checkAccount(settings, true)
		},
	}
}

func callKind() channels.Type {
	return channels.Type{
		Kind: channels.Call, Title: "Phone call", Category: channels.CategoryMail, Combines: true,
		Doc: "Calls a phone through Twilio and reads the alert in English, twice. If the line is busy or nobody answers, it calls " +
			"again, three times in all. " + accountDoc,
		Setup: accountSetup,
		Settings: append(phoneSettings(), channels.Setting{
			Name:         "from",
			Doc:          "The caller: a phone number of the account in international form.",
			KeepsSecrets: true,
			Check:        checkPhone,
		}),
		Check: func(settings map[string]string) *channels.SettingError { return checkAccount(settings, false) },
	}
}

const accountDoc = "Either the server has an account there, or the integration has its own: account_sid, a sender, and either " +
	"auth_token or api_key with api_secret."

const accountSetup = "The Twilio Console at https://console.twilio.com shows the Account SID and the Auth Token of the account. Its phone numbers, " +
	"which can be senders, are listed there as active numbers."

// phoneSettings are the recipient and the account.
func phoneSettings() []channels.Setting {
	return []channels.Setting{
		{
			Name:     "to",
			Doc:      "The phone number in international form, such as +37120000000.",
			Required: true, KeepsSecrets: true,
			Check: checkPhone,
		},
		{
			Name:         "account_sid",
			Doc:          "The Account SID: AC and 32 hexadecimal digits.",
			KeepsSecrets: true,
			Check:        checkSID("AC"),
		},
		{
			Name:   "auth_token",
			Doc:    "The Auth Token of the account.",
			Secret: true,
			Check:  checkAuthToken,
		},
		{
			Name:         "api_key",
			Doc:          "An API key of the account, instead of auth_token: SK and 32 hexadecimal digits.",
			KeepsSecrets: true,
			Check:        checkSID("SK"),
		},
		{
			Name:   "api_secret",
			Doc:    "The secret of the API key.",
			Secret: true,
			Check:  checkAuthToken,
		},
	}
}

func serviceSetting() channels.Setting {
	return channels.Setting{
		Name:         "messaging_service_sid",
		Doc:          "The messaging service that chooses the sender, instead of from: MG and 32 hexadecimal digits.",
		KeepsSecrets: true,
		Check:        checkSID("MG"),
	}
}

// checkAccount accepts a channel without an account, or with a complete one. A sender needs an account: in the server's
// account it could belong to another user. services says whether the kind has messaging services.
func checkAccount(settings map[string]string, services bool) *channels.SettingError {
	has := func(name string) bool { return settings[name] != "" }
	if !has("account_sid") {
		for _, name := range []string{"auth_token", "api_key", "api_secret", "from", "messaging_service_sid"} {
			if has(name) {
				return &channels.SettingError{Setting: "account_sid", Reason: "is missing, " + name + " needs it"}
			}
		}
		return nil
	}
	switch {
	case has("auth_token") && (has("api_key") || has("api_secret")):
		return &channels.SettingError{Setting: "auth_token", Reason: "cannot be combined with api_key and api_secret"}
	case has("api_key") && !has("api_secret"):
		return &channels.SettingError{Setting: "api_secret", Reason: "is missing, api_key needs it"}
	case !has("api_key") && has("api_secret"):
		return &channels.SettingError{Setting: "api_key", Reason: "is missing, api_secret needs it"}
	case !has("auth_token") && !has("api_key"):
		return &channels.SettingError{Setting: "auth_token", Reason: "is missing, account_sid needs it or api_key"}
	case has("from") && has("messaging_service_sid"):
		return &channels.SettingError{Setting: "from", Reason: "cannot be combined with messaging_service_sid"}
	case !has("from") && !services:
		return &channels.SettingError{Setting: "from", Reason: "is missing, account_sid needs it"}
	case !has("from") && !has("messaging_service_sid"):
		return &channels.SettingError{Setting: "from", Reason: "and messaging_service_sid are both missing, account_sid needs one"}
	}
	return nil
}

// checkVariables accepts a JSON object of texts.
func checkVariables(value string) error {
	var variables map[string]string
	if json.Unmarshal([]byte(value), &variables) != nil || len(variables) == 0 {
		return errors.New(`is not a JSON object of texts, such as {"1": "$TITLE", "2": "$TEXT"}`)
	}
	return nil
}

// checkPhone accepts E.164 phone numbers. The shortest in use have seven digits, with the country code.
func checkPhone(value string) error {
	digits, plus := strings.CutPrefix(value, "+")
	if !plus || len(digits) < 7 || len(digits) > 15 || digits[0] == '0' || strings.Trim(digits, "0123456789") != "" {
		return errors.New("is not a phone number: + and 7 to 15 digits, such as +37120000000")
	}
	return nil
}

// checkSID returns a check for Twilio identifiers with a prefix.
func checkSID(prefix string) func(string) error {
	return func(value string) error {
		digits, found := strings.CutPrefix(value, prefix)
		if !found || len(digits) != 32 || strings.Trim(digits, "0123456789abcdefABCDEF") != "" {
			return errors.New("is not " + prefix + " and 32 hexadecimal digits")
		}
		return nil
	}
}

// checkAuthToken accepts what HTTP basic authentication accepts as a password.
func checkAuthToken(value string) error {
	for _, b := range []byte(value) {
		if b <= ' ' || b > '~' {
			return errors.New("contains a space, a control character or a non-ASCII character")
		}
	}
	return nil
}

// checkSender accepts phone numbers, short codes and alphanumeric sender IDs.
func checkSender(value string) error {
	if checkPhone(value) == nil {
		return nil
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	const digits = "0123456789"
	name := len(value) <= 11 && strings.Trim(value, letters+digits+" ") == "" && strings.ContainsAny(value, letters)
	code := len(value) >= 3 && len(value) <= 8 && strings.Trim(value, digits) == ""
	if !name && !code {
		return errors.New("is not a phone number, a short code, or a name of at most 11 letters, digits and spaces")
	}
	return nil
}
