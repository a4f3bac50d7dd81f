package channels

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// mask stands for a secret in a redacted text.
	mask = "***"
	// minPart is the minimum length in bytes of a part of a secret to redact. Shorter parts are words such as v1.
	minPart = 4
	// minSegment is the minimum length in bytes of a path segment to redact. Shorter ones are words such as services.
	minSegment = 16
)

// Redact returns text with each of the secrets replaced by "***", also in its URL and JSON encodings. It ignores empty
// secrets. Use it before logging or showing text from a peer; [Type.Secrets] returns the secrets of a channel.
func Redact(text string, secrets ...string) string {
	forms := make([]string, 0, 5*len(secrets))
	for _, secret := range secrets {
		asJSON, _ := json.Marshal(secret)
		quoted := strconv.Quote(secret)
		forms = append(forms, secret, url.QueryEscape(secret), url.PathEscape(secret),
			string(asJSON[1:len(asJSON)-1]), quoted[1:len(quoted)-1])
	}
	// One secret may be a part of another.
	slices.SortStableFunc(forms, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, form := range forms {
		if form != "" {
			text = strings.ReplaceAll(text, form, mask)
		}
	}
	return text
}

// Secrets returns the values in the settings of c that must not be shown, and those parts of them that are secret on
// their own: lines, header values, paths and parameters of URLs. Values with a source count as secret, and so do
// settings that t does not have. The zero Type therefore returns all values.
func (t Type) Secrets(c Channel) []string {
	shown := make(map[string]bool, len(t.Settings))
	for _, s := range t.AllSettings() {
		shown[s.Name] = !s.Secret && c.Sources[s.Name] == ""
	}
	var list []string
	for name, value := range c.Settings {
		if shown[name] {
			continue
		}
		list = append(list, value)
		for _, part := range append(lineParts(value), urlParts(value)...) {
			if len(part) >= minPart {
				list = append(list, part)
			}
		}
	}
	return list
}

// lineParts returns the lines of a text, and the value and the credentials of each line that is a header.
func lineParts(text string) []string {
	var parts []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		parts = append(parts, line)
		if _, value, found := strings.Cut(line, ":"); found {
			value = strings.TrimSpace(value)
			parts = append(parts, value)
			if _, credentials, found := strings.Cut(value, " "); found { // Authorization: Bearer …
				parts = append(parts, strings.TrimSpace(credentials))
			}
		}
	}
	return parts
}

// urlParts returns the parts of a URL that can be secret, or nil if text is not a URL.
func urlParts(text string) []string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil
	}
	parts := []string{u.RequestURI(), u.Path, u.EscapedPath(), u.RawQuery}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if len(segment) >= minSegment {
			parts = append(parts, segment)
		}
	}
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	if password, ok := u.User.Password(); ok {
		parts = append(parts, password)
	}
	return parts
}
