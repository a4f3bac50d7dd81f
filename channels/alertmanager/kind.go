package alertmanager

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
)

// Kind describes the kind and its settings: url, username, password, token and labels.
func Kind() channels.KindInfo {
	return channels.KindInfo{
		Kind: Alertmanager, Title: "Prometheus Alertmanager", Category: channels.OnCall,
		Doc: "Sends an alert to a Prometheus Alertmanager while a check is down. " +
			"Credentials are either username and password, or token.",
		Settings: []channels.Setting{
			{
				Name: "url",
				Doc: "The http or https URL of the Alertmanager, without /api/v2; " +
					"for a cluster those of all members, at most 10, separated by commas.",
				Required: true,
				Check:    checkURLs,
			},
			{Name: "username", Doc: "The user name for basic authentication.", KeepsSecrets: true, Check: checkUsername},
			{Name: "password", Doc: "The password for basic authentication.", Secret: true},
			{Name: "token", Doc: "The bearer token.", Secret: true, Check: checkToken},
			{
				Name: "labels",
				Doc: "More labels of the alert, one name=value a line, such as severity=critical. " +
					"alertname=... replaces RollcallCheckDown.",
				Lines: true, KeepsSecrets: true,
				Check: func(value string) error {
					_, err := parseLabels(value)
					return err
				},
			},
		},
		Check: checkCredentials,
	}
}

func checkURLs(value string) error {
	urls := splitURLs(value)
	if len(urls) == 0 || len(urls) > maxURLs {
		return fmt.Errorf("is not a list of 1 to %d URLs", maxURLs)
	}
	for _, item := range urls {
		u, err := url.Parse(item)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
			return errors.New("is not an http:// or https:// URL, or several separated by commas")
		case u.User != nil:
			return errors.New("contains credentials, which belong to username and password")
		case u.RawQuery != "" || u.Fragment != "":
			return errors.New("has a query or a fragment")
		}
	}
	return nil
}

func checkUsername(value string) error {
	if strings.Contains(value, ":") {
		return errors.New("contains a colon")
	}
	return nil
}

func checkToken(value string) error {
	for _, b := range []byte(value) {
		if b <= ' ' || b > '~' {
			return errors.New("contains a space, a control character or a non-ASCII character")
		}
	}
	return nil
}

func checkCredentials(settings map[string]string) *channels.SettingError {
	user, password, token := settings["username"] != "", settings["password"] != "", settings["token"] != ""
	switch {
	case token && (user || password):
		return &channels.SettingError{Setting: "token", Reason: "cannot be combined with username and password"}
	case password && !user:
		return &channels.SettingError{Setting: "username", Reason: "is missing, password needs it"}
	}
	return nil
}

// parseLabels parses lines of the form name=value, and skips empty lines.
func parseLabels(text string) (map[string]string, error) {
	name := regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	list := make(map[string]string)
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		_, twice := list[key]
		switch {
		case !found:
			return nil, fmt.Errorf("has no = in line %d, write name=value", number)
		case !name.MatchString(key):
			return nil, fmt.Errorf("has an invalid name in line %d: letters, digits and _, no digit first", number)
		case key == "check" || key == "uuid" || key == "slug" || key == "project" || strings.HasPrefix(key, "tag_"):
			return nil, fmt.Errorf("uses a name in line %d that only Rollcall may set", number)
		case value == "":
			return nil, fmt.Errorf("has no value in line %d", number)
		case twice:
			return nil, fmt.Errorf("repeats a name in line %d", number)
		}
		list[key] = value
	}
	return list, nil
}
