// Package baseurl parses the addresses below which the handlers of the server answer.
package baseurl

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Default is the address of a server that was given none.
const Default = "http://localhost:8000"

// URL is a parsed address. Its Host is in lower case, with the port if there is one, and its Path "" or "/…", without a
// slash at the end.
type URL struct {
	*url.URL
	Text string // as it was configured, without a slash at the end
}

// Parse parses an http or https URL without a user, a query and a fragment. The error begins with the field.
func Parse(field, text string) (URL, error) {
	text = strings.TrimRight(text, "/")
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return URL{}, fmt.Errorf("%s is not a URL: %w", field, err)
	case u.Scheme != "http" && u.Scheme != "https":
		return URL{}, fmt.Errorf("%s is not an http or https URL: %q", field, text)
	case u.Hostname() == "":
		return URL{}, fmt.Errorf("%s has no host: %q", field, text)
	case strings.ContainsAny(u.Host, `"'<>\^{|}`+"`"): // net/url accepts them, although no host has them
		return URL{}, fmt.Errorf("%s has a host that is not valid: %q", field, u.Host)
	case u.User != nil || strings.ContainsAny(text, "?#"):
		return URL{}, fmt.Errorf("%s must have neither a user, a query nor a fragment", field)
	case strings.ContainsFunc(u.EscapedPath(), unusual) || strings.Contains(u.Path, "//"):
		return URL{}, fmt.Errorf("the path of %s may only have letters, digits and -._~ between single slashes: %q", field, u.Path)
	}
	u.Host = strings.ToLower(u.Host)
	return URL{u, text}, nil
}

// unusual reports whether a character can be written in more than one way in a path.
func unusual(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/-._~", r))
}

// Strict returns the value of the header Strict-Transport-Security for answers of the URL's host: "" for http. setting is that of
// server.Config.HSTS.
func (u URL) Strict(setting string) string {
	if u.Scheme != "https" || setting == "none" {
		return ""
	}
	return cmp.Or(setting, "max-age=31536000")
}

// Misplaced reports whether a request without a page shows that the handler is mounted elsewhere than where the URL says:
// the request is not below its path, or [http.Request.Pattern] is the mount of another path. It is no proof of the opposite,
// because not every router sets the pattern. A request whose target is no path shows nothing: "*", a host to connect to, or a URL as
// proxies get it.
func (u URL) Misplaced(r *http.Request) bool {
	if r.URL.Host != "" || !strings.HasPrefix(r.URL.Path, "/") {
		return false
	}
	if !below(r.URL.Path, u.Path) {
		return true
	}
	slash := strings.IndexByte(r.Pattern, '/')
	if slash < 0 {
		return false
	}
	mount := r.Pattern[slash:]
	if i := strings.IndexAny(mount, "{*"); i >= 0 {
		mount = mount[:i]
	}
	return !below(u.Path, strings.TrimRight(mount, "/"))
}

// below reports whether a path is parent or lies below it.
func below(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && (rest == "" || rest[0] == '/')
}
