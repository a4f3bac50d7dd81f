package discover

import "strings"

// assign reports whether a line sets a variable, as load_env of the daemons decides it, and which.
func (c Cron) assign(text string) (name, value string, ok bool) {
	if c == Busybox {
		return busyboxAssign(text)
	}
	if c == Debian {
		text = text[:min(len(text), debianCommand)]
	}
	p := position{text: text}
	name, quoted, ok := p.token(func(ch byte) bool { return isSpace(ch) || ch == '=' })
	if p.spaces(); !ok || quoted && strings.Contains(name, "=") || !p.has('=') {
		return "", "", false
	}
	p.at++
	if p.spaces(); p.at == len(text) {
		return name, "", c != Debian
	}
	value, quoted, ok = p.token(func(byte) bool { return false })
	if p.spaces(); !ok || p.at < len(text) {
		return "", "", false
	}
	if !quoted {
		value = strings.TrimRight(value, " \t\n\v\f\r")
	}
	return name, value, true
}

// token reads a word in quotes, or up to a character that ends it. Quotes must be closed.
func (p *position) token(ends func(byte) bool) (text string, quoted, ok bool) {
	if p.has('\'') || p.has('"') {
		inner, _, closed := strings.Cut(p.text[p.at+1:], p.text[p.at:p.at+1])
		p.at = min(p.at+len(inner)+2, len(p.text))
		return inner, true, closed
	}
	start := p.at
	for p.at < len(p.text) && !ends(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at], false, true
}

// spaces skips white space of any kind.
func (p *position) spaces() {
	for p.at < len(p.text) && isSpace(p.text[p.at]) {
		p.at++
	}
}

func isSpace(c byte) bool { return strings.IndexByte(" \t\n\v\f\r", c) >= 0 }

// busyboxAssign reads the variables that busybox's crond knows: the word before the first blank. What it does not know, it takes for
// a line with too few fields.
func busyboxAssign(text string) (name, value string, ok bool) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' })
	if len(words) == 0 {
		return "", "", false
	}
	for _, name := range []string{"MAILTO", "SHELL", "PATH"} {
		if value, ok := strings.CutPrefix(words[0], name+"="); ok {
			return name, value, true
		}
	}
	name, value, ok = strings.Cut(words[0], "=")
	return name, value, ok && len(words) < 6 && assignment.MatchString(words[0])
}
