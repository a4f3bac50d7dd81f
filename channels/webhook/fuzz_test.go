package webhook

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/rollcall-dev/rollcall/channels"
)

// FuzzExpand checks that a value cannot break out of a text, a URL or a header.
func FuzzExpand(f *testing.F) {
	f.Add("$NAME and $TAG1", "name", "a b", "body")
	f.Add("$$NAME$NAME_JSON$TAG10_JSON$", "$STATUS", "$NAME", "\xff\x00")
	f.Add("$TAG1TAG$TAG01$TAGS_JSON", "\r\nX: y", "", "$")
	f.Add("$NAME", "../..", ".", `a\..`)
	f.Fuzz(func(t *testing.T, template, name, tags, body string) {
		n := channels.Notification{
			Status: channels.Down, Check: channels.Check{Name: name, Slug: "s", Tags: []string{tags}}, Ping: channels.Ping{Body: []byte(body)},
		}
		p := placeholders{notification: n, now: time.Unix(1e9, 0).UTC()}
		p.fill()
		got, err := p.expand(template, 1<<16, nil)
		if err == nil && !strings.Contains(template, "$") && got != template {
			t.Errorf("%q became %q without a placeholder", template, got)
		}
		if err == nil && len(got) > 1<<16 {
			t.Errorf("%d bytes", len(got))
		}
		// Without the values, only the text between the placeholders is left.
		rest, err := p.expand(template, 1<<16, func(string) string { return "" })
		if err == nil && len(rest) > len(template) {
			t.Errorf("%q became %q", template, rest)
		}
		for placeholder := range p.values {
			value, err := p.expand("$"+placeholder, maxBody, nil)
			if err != nil || value != p.values[placeholder] {
				t.Errorf("$%s is %q, %v", placeholder, value, err)
			}
			if (strings.HasSuffix(placeholder, asJSON) || placeholder == "JSON") && !json.Valid([]byte(value)) {
				t.Errorf("$%s is not JSON: %q", placeholder, value)
			}
			inside, err := p.expandURL("https://example.org/a/$" + placeholder + "/b?c=$" + placeholder + "&d")
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(inside)
			if err != nil || u.Host != "example.org" || !strings.HasSuffix(u.EscapedPath(), "/b") || strings.Count(u.EscapedPath(), "/") != 3 ||
				strings.Count(u.RawQuery, "&") != 1 || u.Query().Get("c") != cut(value) || u.Fragment != "" {
				t.Errorf("the value changed the structure of the URL %q, %v", inside, err)
			}
			for _, segment := range strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' || r == '\\' }) {
				if segment == "." || segment == ".." {
					t.Errorf("%q has a dot segment", inside)
				}
			}
			if header := inHeader(value); !httpguts.ValidHeaderFieldValue(header) || !utf8.ValidString(header) {
				t.Errorf("%q is not a valid header value", header)
			}
		}
	})
}
