package webhook

import (
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
)

const (
	// Limits of the expanded texts, in bytes. A template of 10,000 characters can repeat the body of a ping thousands of
	// times.
	maxURL    = 16 << 10
	maxHeader = 16 << 10
	maxBody   = 1 << 20

	// maxInline bounds one value in a URL or a header, in characters.
	maxInline = 1000
	// timeFormat is the format of the API, for times in UTC.
	timeFormat = "2006-01-02T15:04:05+00:00"
	// asJSON is the suffix of placeholders for JSON.
	asJSON = "_JSON"
)

// placeholders replaces placeholders by values of a notification.
type placeholders struct {
	notification channels.Notification
	now          time.Time

	values map[string]string // by name, without the dollar sign; nil until a template has one
	tags   []string
}

// fill sets the values.
func (p *placeholders) fill() {
	n := p.notification
	p.values, p.tags = make(map[string]string), strings.Fields(strings.Join(n.Check.Tags, " "))
	set := func(name, text string) { p.values[name], p.values[name+asJSON] = text, encode(text) }
	set("CODE", n.Check.ID.String())
	set("UUID", n.Check.ID.String())
	set("NAME", n.Check.Name)
	set("SLUG", n.Check.Slug)
	set("PROJECT", n.Check.Project)
	set("TAGS", strings.Join(n.Check.Tags, " "))
	set("STATUS", string(n.Status))
	set("REASON", n.Reason)
	set("CAUSE", n.Cause)
	set("NOW", p.now.Format(timeFormat))
	set("AT", n.At.UTC().Format(timeFormat))
	set("BODY", strings.ToValidUTF8(string(n.Ping.Body), "\ufffd"))
	set("BODYEND", strings.ToValidUTF8(string(n.Ping.End), "\ufffd"))
	set("ID", n.ID)
	set("INCIDENT", n.Incident)
	set("ACKURL", n.AckURL)
	p.values["JSON"] = encode(newDocument(n).Check)

	seconds := strconv.FormatInt(int64(n.DownFor/time.Second), 10)
	p.values["DOWNFOR"], p.values["DOWNFOR"+asJSON] = seconds, seconds
	p.values["EXITSTATUS"], p.values["EXITSTATUS"+asJSON] = "-1", "null"
	if status := n.Ping.ExitStatus; status != nil {
		text := strconv.Itoa(*status)
		p.values["EXITSTATUS"], p.values["EXITSTATUS"+asJSON] = text, text
	}
	p.values["DURATION"], p.values["DURATION"+asJSON] = "-1", "null"
	if took := n.Ping.Duration; took > 0 {
		text := strconv.FormatFloat(took.Seconds(), 'f', -1, 64)
		p.values["DURATION"], p.values["DURATION"+asJSON] = text, text
	}
}

// expand replaces each placeholder with its value, passed through escape unless that is nil. The result has at most
// limit bytes. The error is a phrase that follows the name of the setting.
func (p *placeholders) expand(template string, limit int, escape func(string) string) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(template, "$")
		b.WriteString(before)
		if !found {
			break
		}
		value, length := p.find(after)
		switch {
		case length == 0:
			value = "$"
		case escape != nil:
			value = escape(value)
		}
		if b.Len()+len(value) > limit {
			return "", errors.New("is too long once its placeholders are replaced")
		}
		b.WriteString(value)
		template = after[length:]
	}
	if b.Len() > limit {
		return "", errors.New("is too long once its placeholders are replaced")
	}
	return b.String(), nil
}

// find returns the value of the longest placeholder at the start of text and the length of its name, or 0 if there is
// none.
func (p *placeholders) find(text string) (value string, length int) {
	if p.values == nil {
		p.fill()
	}
	if value, length = p.tag(text); length > 0 {
		return value, length
	}
	for name, v := range p.values {
		if len(name) > length && strings.HasPrefix(text, name) {
			value, length = v, len(name)
		}
	}
	return value, length
}

// tag is find for TAG1, TAG2 and so on.
func (p *placeholders) tag(text string) (value string, length int) {
	rest, found := strings.CutPrefix(text, "TAG")
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	if !found || digits == "" || digits[0] == '0' {
		return "", 0
	}
	length = len("TAG") + len(digits)
	if n, err := strconv.Atoi(digits); err == nil && n <= len(p.tags) {
		value = p.tags[n-1]
	}
	if strings.HasPrefix(text[length:], asJSON) {
		return encode(value), length + len(asJSON)
	}
	return value, length
}

// separators matches the separators of path segments, also those that a server decodes.
var separators = regexp.MustCompile(`(?i)/|%2f|\\|%5c`)

// expandURL replaces the placeholders of a URL. Values add no dot segment to the path. A check without a slug has its UUID in
// place of it, so that no other has the same URL.
func (p *placeholders) expandURL(template string) (string, error) {
	if p.notification.Check.Slug == "" {
		p = &placeholders{notification: p.notification, now: p.now}
		p.fill()
		p.values["SLUG"] = p.values["UUID"]
	}
	pathEnd := strings.IndexAny(template, "?#")
	if pathEnd < 0 {
		pathEnd = len(template)
	}
	var b strings.Builder
	for part := range strings.SplitAfterSeq(template[:pathEnd], "/") {
		expanded, err := p.expand(part, maxURL-b.Len(), inURL)
		if err != nil {
			return "", err
		}
		if expanded != part {
			expanded = hideDotSegments(expanded)
		}
		b.WriteString(expanded)
	}
	rest, err := p.expand(template[pathEnd:], maxURL-b.Len(), inURL)
	return b.String() + rest, err
}

// hideDotSegments encodes the dots of dot segments twice. Encoding them once does not help: %2E is equivalent to a dot
// (RFC 3986, section 6.2.2.2), and many servers resolve dot segments after decoding.
func hideDotSegments(path string) string {
	var b strings.Builder
	for path != "" {
		segment, separator := path, ""
		if at := separators.FindStringIndex(path); at != nil {
			segment, separator = path[:at[0]], path[at[0]:at[1]]
		}
		path = path[len(segment)+len(separator):]
		switch dots := strings.ReplaceAll(strings.ToUpper(segment), "%2E", "."); dots {
		case ".", "..":
			segment = strings.ReplaceAll(dots, ".", "%252E")
		}
		b.WriteString(segment + separator)
	}
	return b.String()
}

// inURL escapes all but the unreserved characters, so that a value stays within its part of the URL.
func inURL(value string) string {
	return strings.ReplaceAll(url.QueryEscape(cut(value)), "+", "%20")
}
