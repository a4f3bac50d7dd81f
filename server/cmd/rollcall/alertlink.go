package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
)

// linkTemplate is the URL of a page about a check, with placeholders. It is valid if UnmarshalText has read it.
type linkTemplate string

// linkValues has the value of each placeholder.
var linkValues = map[string]func(c checks.Check, project string) string{
	"$UUID":       func(c checks.Check, _ string) string { return c.ID.String() },
	"$UNIQUE_KEY": func(c checks.Check, _ string) string { return c.UniqueKey() },
	"$SLUG":       func(c checks.Check, _ string) string { return cmp.Or(c.Slug, c.ID.String()) },
	"$NAME":       func(c checks.Check, _ string) string { return c.DisplayName() },
	"$PROJECT":    func(_ checks.Check, project string) string { return project },
}

// linkPlaceholder matches what looks like a placeholder.
var linkPlaceholder = regexp.MustCompile(`\$[A-Z_]*`)

// UnmarshalText reads an http or https URL, whose placeholders are known and come after the host.
func (l *linkTemplate) UnmarshalText(text []byte) error {
	template := string(text)
	for _, name := range linkPlaceholder.FindAllString(template, -1) {
		if linkValues[name] == nil {
			return fmt.Errorf("has the unknown placeholder %q; known are $UUID, $UNIQUE_KEY, $SLUG, $NAME and $PROJECT, and %%24 is a $", name)
		}
	}
	u, err := url.Parse(template)
	switch {
	case err != nil:
		return errors.New("is not a valid URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("must begin with http:// or https://")
	case u.Hostname() == "":
		return errors.New("has no host")
	case u.User != nil:
		return errors.New("must not have a user name or password")
	case strings.Contains(u.Host, "$"):
		return errors.New("must not have a placeholder in its host")
	case strings.ContainsFunc(template, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return errors.New("must not have a space or a control character")
	}
	*l = linkTemplate(template)
	return nil
}

// expand returns the address of the page about a check.
func (l linkTemplate) expand(c checks.Check, project string) string {
	return linkPlaceholder.ReplaceAllStringFunc(string(l), func(name string) string {
		return strings.ReplaceAll(url.QueryEscape(linkValues[name](c, project)), "+", "%20")
	})
}
