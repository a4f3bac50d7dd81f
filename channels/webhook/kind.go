package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels"
)

// kind describes the kind and its settings.
func kind() channels.Type {
	info := channels.Type{
		Kind: channels.Webhook, Title: "Webhook", Category: channels.CategoryCustom,
		Doc: "Sends an HTTP request when a check goes down, and one when it is up again. " +
			"One of url_down and url_up is enough. " +
			"URLs, headers and bodies take placeholders such as $NAME, $STATUS and $REASON.",
		Check: func(settings map[string]string) *channels.SettingError {
			if settings["url_down"] == "" && settings["url_up"] == "" {
				return &channels.SettingError{Setting: "url_down", Reason: "and url_up are both missing"}
			}
			return nil
		},
		Warn: warn,
		Setup: "The URL is your receiver's. With the secret, which you choose and give to it too, it can verify that requests are from " +
			"this server.",
	}
	for _, to := range []string{"down", "up"} {
		info.Settings = append(info.Settings,
			channels.Setting{
				Name:    "url_" + to,
				Doc:     "The http or https URL to request when a check goes " + to + ".",
				Primary: true,
				Secret:  true, // many services put a token into it
				Check:   checkURL,
			},
			channels.Setting{
				Name:    "method_" + to,
				Doc:     "The method of the request: GET, POST or PUT.",
				Default: "POST", Options: []string{"GET", "POST", "PUT"}, KeepsSecrets: true,
			},
			channels.Setting{
				Name: "body_" + to,
				Doc: "The body of the request, except of GET, which has none. " +
					"Without it the request has a JSON document about the check.",
				Lines: true, KeepsSecrets: true,
			},
			channels.Setting{
				Name:   "headers_" + to,
				Doc:    `Headers of the request, one "Name: value" a line.`,
				Secret: true, Lines: true,
				Check: checkHeaders,
			})
	}
	info.Settings = append(info.Settings, channels.Setting{
		Name: "secret",
		Doc: "Signs the requests by the scheme of Standard Webhooks: whsec_ and the base64 of 24 to 64 bytes, " +
			"or another text of at least 16 characters. Several, separated by spaces, each make a signature.",
		Secret: true,
		Check:  checkSecret,
	})
	return info
}

// checkURL accepts the URLs that a webhook can request. It hides the error of url.Parse, which contains the URL.
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
	if strings.Contains(u.Host, "$") {
		return errors.New("has a placeholder in its host, which must not depend on the check")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("has an invalid port, which is a number from 1 to 65535")
		}
	}
	return nil
}

// checkHeaders accepts HTTP headers, one a line, and empty lines.
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
			return fmt.Errorf("has no colon in line %d, write Name: value", number)
		case !isToken(name):
			return fmt.Errorf("has an invalid header name in line %d", number)
		case isFramingHeader(name):
			return fmt.Errorf("sets %s in line %d, which only Rollcall may set", name, number)
		case strings.ContainsFunc(content, isHeaderControl):
			return fmt.Errorf("contains a control character in line %d", number)
		}
	}
	return nil
}

// isFramingHeader reports whether users must not set a header because it decides where a request goes or ends.
func isFramingHeader(name string) bool {
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding", "trailer", "te", "connection", "keep-alive", "upgrade",
		"proxy-connection", "proxy-authorization":
		return true
	}
	return false
}

// checkSecret accepts signing keys, separated by spaces.
func checkSecret(value string) error {
	words := strings.Fields(value)
	if len(words) == 0 {
		return errors.New("is blank")
	}
	for _, word := range words {
		encoded, found := strings.CutPrefix(word, "whsec_")
		if !found {
			if utf8.RuneCountInString(word) < 16 {
				return errors.New("is too short, the minimum is 16 characters")
			}
			continue
		}
		if key, err := base64.StdEncoding.DecodeString(encoded); err != nil || len(key) < 24 || len(key) > 64 {
			return errors.New("is not the base64 of 24 to 64 bytes after whsec_")
		}
	}
	return nil
}

// isToken reports whether name is valid as the name of an HTTP header (RFC 9110, section 5.6.2).
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		letterOrDigit := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letterOrDigit && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// isHeaderControl reports whether r is a control character that the value of a header must not contain.
func isHeaderControl(r rune) bool {
	return r != '\t' && unicode.IsControl(r)
}
