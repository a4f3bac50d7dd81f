package channels

import (
	"errors"
	"strings"
)

func smsKind() KindInfo {
	return KindInfo{
		Kind: SMS, Title: "Text message", Category: Mail,
		Doc: "Sends a text message to a phone through Twilio. Either the server has an account there, or the integration " +
			"has its own: account_sid, auth_token, and one of from and messaging_service_sid.",
		Settings: []Setting{
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
				Name: "from",
				Doc: "The sender: a phone number of the account in international form, a short code, " +
					"or a name of at most 11 letters, digits and spaces.",
				KeepsSecrets: true,
				Check:        checkSender,
			},
			{
				Name:         "messaging_service_sid",
				Doc:          "The messaging service that chooses the sender, instead of from: MG and 32 hexadecimal digits.",
				KeepsSecrets: true,
				Check:        checkSID("MG"),
			},
		},
		Check: checkSMS,
	}
}

// checkSMS accepts a channel without an account, or with a complete one. A sender needs an account: in the server's
// account it could belong to another user.
func checkSMS(settings map[string]string) *SettingError {
	sid, token := settings["account_sid"] != "", settings["auth_token"] != ""
	from, service := settings["from"] != "", settings["messaging_service_sid"] != ""
	switch {
	case sid && !token:
		return &SettingError{Setting: "auth_token", Reason: "is missing, account_sid needs it"}
	case !sid && token:
		return &SettingError{Setting: "account_sid", Reason: "is missing, auth_token needs it"}
	case !sid && from:
		return &SettingError{Setting: "account_sid", Reason: "is missing, from needs it"}
	case !sid && service:
		return &SettingError{Setting: "account_sid", Reason: "is missing, messaging_service_sid needs it"}
	case from && service:
		return &SettingError{Setting: "from", Reason: "cannot be combined with messaging_service_sid"}
	case sid && !from && !service:
		return &SettingError{Setting: "from", Reason: "and messaging_service_sid are both missing, account_sid needs one"}
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
