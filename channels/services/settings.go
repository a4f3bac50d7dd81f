package services

import (
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
)

// secret returns a required, secret setting.
func secret(name, doc string, check func(string) error) channels.Setting {
	return channels.Setting{Name: name, Doc: doc, Required: true, Secret: true, Check: check}
}

// required returns a required setting, which does not decide where secrets are sent; see [address].
func required(name, doc string, check func(string) error) channels.Setting {
	return channels.Setting{Name: name, Doc: doc, Required: true, KeepsSecrets: true, Check: check}
}

func optional(name, doc string, check func(string) error) channels.Setting {
	return channels.Setting{Name: name, Doc: doc, KeepsSecrets: true, Check: check}
}

// choice returns an optional setting with few values.
func choice(name, doc string, values ...string) channels.Setting {
	s := optional(name, doc, nil)
	s.Options = values
	return s
}

// address returns the setting as one that decides to which server the secrets are sent.
func address(s channels.Setting) channels.Setting {
	s.KeepsSecrets = false
	return s
}

// withDefault returns the setting with a default, no longer required.
func withDefault(s channels.Setting, value string) channels.Setting {
	s.Default, s.Required = value, false
	return s
}

// notRequired returns the setting as an optional one.
func notRequired(s channels.Setting) channels.Setting {
	s.Required = false
	return s
}

// primary returns the setting as one that most channels have although it is not required.
func primary(s channels.Setting) channels.Setting {
	s.Primary = true
	return s
}

// conflict is the error of two settings that exclude each other.
func conflict(name, other string) *channels.SettingError {
	return &channels.SettingError{Setting: name, Reason: "cannot be combined with " + other}
}

// missing is the error of a setting that another one needs.
func missing(name, other string) *channels.SettingError {
	return &channels.SettingError{Setting: name, Reason: "is missing, " + other + " needs it"}
}

// text accepts one line of at most 200 characters.
func text(value string) error {
	if len([]rune(value)) > 200 {
		return errors.New("is too long, the maximum is 200 characters")
	}
	for _, r := range value {
		if r < ' ' || r == 0x7f {
			return errors.New("contains a control character")
		}
	}
	return nil
}

// token accepts ASCII without spaces, which is valid in a header.
func token(value string) error {
	for _, b := range []byte(value) {
		if b <= ' ' || b > '~' {
			return errors.New("contains a space, a control character or a non-ASCII character")
		}
	}
	return nil
}

// user accepts a user name for HTTP basic authentication.
func user(value string) error {
	if strings.Contains(value, ":") {
		return errors.New("contains a colon")
	}
	return text(value)
}

// pattern accepts text that matches the regular expression completely.
func pattern(expression, reason string) func(string) error {
	return func(value string) error {
		if !regexp.MustCompile(`\A(?:` + expression + `)\z`).MatchString(value) {
			return errors.New(reason)
		}
		return nil
	}
}

// oneOf accepts the listed values.
func oneOf(values ...string) func(string) error {
	return func(value string) error {
		for _, v := range values {
			if v == value {
				return nil
			}
		}
		return errors.New("is not one of " + strings.Join(values, ", "))
	}
}

// number accepts integers within bounds.
func number(low, high int) func(string) error {
	return func(value string) error {
		if n, err := strconv.Atoi(value); err != nil || n < low || n > high {
			return errors.New("is not a number from " + strconv.Itoa(low) + " to " + strconv.Itoa(high))
		}
		return nil
	}
}

// serverWithout is server for a service below whose URL the notifier adds paths. It refuses a URL that has one of them already,
// because the service would only say that nothing is there.
func serverWithout(paths ...string) func(string) error {
	return func(value string) error {
		if err := server(value); err != nil {
			return err
		}
		u, err := url.Parse(value)
		if err != nil {
			return errors.New("is not a URL")
		}
		for _, path := range paths {
			if base, _, found := strings.Cut(u.Path+"/", path+"/"); found {
				return errors.New("has the path " + path + ", which is added by itself: write " + u.Scheme + "://" + u.Host + base)
			}
		}
		return nil
	}
}

// server accepts http and https URLs without credentials, query or fragment.
func server(value string) error {
	u, err := parse(value, "http", "https")
	if err != nil {
		return err
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return errors.New("has a query or a fragment")
	}
	return nil
}

// hook accepts the https URLs of webhooks.
func hook(value string) error {
	_, err := parse(value, "https")
	return err
}

// hookAt accepts https URLs on certain hosts with a matching path.
func hookAt(path string, hosts ...string) func(string) error {
	return func(value string) error {
		u, err := parse(value, "https")
		if err != nil {
			return err
		}
		found := false
		for _, host := range hosts {
			found = found || u.Host == host
		}
		if !found || !regexp.MustCompile(`\A(?:`+path+`)\z`).MatchString(u.Path) {
			return errors.New("is not the URL of a webhook of this service, on " + strings.Join(hosts, " or "))
		}
		return nil
	}
}

// parse parses the URL of a server. It hides the errors of package url, which contain the URL.
func parse(value string, schemes ...string) (*url.URL, error) {
	u, err := url.Parse(value)
	switch {
	case err != nil:
		return nil, errors.New("is not a URL")
	case oneOf(schemes...)(u.Scheme) != nil:
		return nil, errors.New("is not an " + strings.Join(schemes, ":// or ") + ":// URL")
	case u.Hostname() == "":
		return nil, errors.New("has no host")
	case u.User != nil:
		return nil, errors.New("contains credentials")
	}
	return u, nil
}

// list splits a list at commas, semicolons and line breaks, and drops empty items.
func list(value string) []string {
	var items []string
	for item := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(",;\r\n", r) }) {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// each accepts lists of 1 to 20 items that pass the check.
func each(check func(string) error) func(string) error {
	return func(value string) error {
		items := list(value)
		if len(items) == 0 || len(items) > 20 {
			return errors.New("is not a list of 1 to 20 items, separated by commas")
		}
		for _, item := range items {
			if err := check(item); err != nil {
				return err
			}
		}
		return nil
	}
}

func phone(value string) error {
	return pattern(`\+[1-9]\d{6,14}`, "is not a phone number: + and 7 to 15 digits, such as +37120000000")(value)
}

// incoming accepts URLs of incoming webhooks on any host, with a matching path.
func incoming(path string, schemes ...string) func(string) error {
	return func(value string) error {
		u, err := parse(value, schemes...)
		if err != nil {
			return err
		}
		if u.RawQuery != "" || u.Fragment != "" || pattern(path, "x")(u.EscapedPath()) != nil {
			return errors.New("is not the URL of an incoming webhook")
		}
		return nil
	}
}

func tokenOrPassword(settings map[string]string) *channels.SettingError {
	switch {
	case settings["token"] != "" && settings["username"] != "":
		return conflict("token", "username")
	case settings["password"] != "" && settings["username"] == "":
		return missing("username", "password")
	}
	return nil
}
