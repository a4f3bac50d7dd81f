package channels

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// Kinds returns the kinds of channels that the package knows by itself: [Email],
// [Webhook] and [SMS]. Every call returns a new slice, so a program can append
// kinds of its own to it and pass the result to [Validate].
func Kinds() []KindInfo {
	return []KindInfo{emailKind(), webhookKind(), smsKind()}
}

func emailKind() KindInfo {
	return KindInfo{
		Kind: Email,
		Doc:  "Sends an e-mail to one or several addresses.",
		Settings: []Setting{{
			Name:     "to",
			Doc:      "The address, or several separated by commas.",
			Required: true,
			Check:    checkAddresses,
		}},
	}
}

func webhookKind() KindInfo {
	info := KindInfo{
		Kind: Webhook,
		Doc: "Makes an HTTP request when a check goes down, and one when it goes up again. " +
			"At least one of url_down and url_up is needed; without the other, that change is not told.",
		Check: func(settings map[string]string) *SettingError {
			if settings["url_down"] == "" && settings["url_up"] == "" {
				return &SettingError{Setting: "url_down", Reason: "and url_up are both missing"}
			}
			return nil
		},
	}
	for _, to := range []string{"down", "up"} {
		info.Settings = append(info.Settings,
			Setting{
				Name:  "url_" + to,
				Doc:   "The http or https URL to request when a check goes " + to + ".",
				Check: checkURL,
			},
			Setting{
				Name:    "method_" + to,
				Doc:     "The method of the request: GET, POST or PUT.",
				Default: "POST",
				Check:   checkMethod,
			},
			Setting{
				Name: "body_" + to,
				Doc:  "The body of the request. Without it the request has a JSON document about the check.",
			},
			Setting{
				Name:   "headers_" + to,
				Doc:    `Headers of the request, one "Name: value" a line.`,
				Secret: true,
				Check:  checkHeaders,
			})
	}
	return info
}

func smsKind() KindInfo {
	return KindInfo{
		Kind: SMS,
		Doc:  "Sends a text message to a phone.",
		Settings: []Setting{
			{
				Name:     "to",
				Doc:      "The phone number in international form, such as +37120000000.",
				Required: true,
				Check:    checkPhone,
			},
			{Name: "account_sid", Doc: "The identifier of the account at the SMS service."},
			{Name: "auth_token", Doc: "The password of the account at the SMS service.", Secret: true},
			{Name: "from", Doc: "The number or name that the message comes from."},
		},
	}
}

// checkAddresses accepts a list of e-mail addresses.
func checkAddresses(value string) error {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return errors.New("contains a control character")
	}
	list, err := mail.ParseAddressList(value)
	if err != nil || len(list) == 0 { // An empty group has no address and is no error.
		return errors.New("is not a comma-separated list of e-mail addresses")
	}
	return nil
}

// checkURL accepts the URLs that a webhook can request. It does not repeat the
// error of url.Parse, which contains the URL.
func checkURL(value string) error {
	u, err := url.Parse(value)
	if err != nil {
		return errors.New("is not a URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("is not an http:// or https:// URL")
	}
	if u.Hostname() == "" {
		return errors.New("has no host")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("has an invalid port, which is a number from 1 to 65535")
		}
	}
	return nil
}

// checkMethod accepts the methods that a webhook can use.
func checkMethod(value string) error {
	switch value {
	case "GET", "POST", "PUT":
		return nil
	}
	return errors.New("is not GET, POST or PUT")
}

// checkHeaders accepts HTTP headers, one a line. Empty lines are fine.
func checkHeaders(value string) error {
	number := 0
	for line := range strings.Lines(value) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		name, content, found := strings.Cut(line, ":")
		switch {
		case !found:
			return fmt.Errorf("has no colon in line %d, a line is Name: value", number)
		case !isToken(name):
			return fmt.Errorf("has an invalid header name in line %d", number)
		case strings.ContainsFunc(content, isHeaderControl):
			return fmt.Errorf("contains a control character in line %d", number)
		}
	}
	return nil
}

// isToken reports whether name can be the name of an HTTP header: RFC 9110,
// section 5.6.2.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		letterOrDigit := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letterOrDigit && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// isHeaderControl reports whether r is a control character that the value of a
// header must not have; a tab it may.
func isHeaderControl(r rune) bool {
	return r != '\t' && unicode.IsControl(r)
}

// checkPhone accepts E.164 phone numbers. The shortest ones in use have seven
// digits, the country code included.
func checkPhone(value string) error {
	digits, plus := strings.CutPrefix(value, "+")
	if !plus || len(digits) < 7 || len(digits) > 15 || digits[0] == '0' || strings.Trim(digits, "0123456789") != "" {
		return errors.New("is not a phone number: + and 7 to 15 digits, such as +37120000000")
	}
	return nil
}
