package discover

import "strings"

// assignState is a state of load_env, which both daemons have from Vixie's cron, in the order of a line.
type assignState int

const (
	nameBegins assignState = iota
	inName
	behindName
	behindEqual
	valueBegins
	inValue
	behindValue
	noAssignment
)

// assign reports whether a line sets a variable, and which.
func (c Cron) assign(text string) (name, value string, ok bool) {
	if c == Busybox {
		return busyboxAssign(text)
	}
	if c == Debian {
		text = text[:min(len(text), debianCommand)]
	}
	var parts [2][]byte
	state, quote := nameBegins, byte(0)
	for at := 0; at < len(text) && state != noAssignment; {
		ch := text[at]
		switch state {
		case nameBegins, valueBegins:
			if ch == '\'' || ch == '"' {
				quote = ch
				at++
			}
			state++
		case inName, inValue:
			switch {
			case quote != 0 && ch == quote:
				state++
				at++
			case state == inName && quote != 0 && ch == '=':
				state = noAssignment
			case state == inName && quote == 0 && (isSpace(ch) || ch == '='):
				state++
				if isSpace(ch) {
					at++
				}
			default:
				part := 0
				if state == inValue {
					part = 1
				}
				parts[part] = append(parts[part], ch)
				at++
			}
		case behindName:
			if ch == '=' {
				state, quote = behindEqual, 0
			} else if !isSpace(ch) {
				state = noAssignment
			}
			at++
		case behindEqual, behindValue:
			if isSpace(ch) {
				at++
			} else {
				state++
			}
		}
	}
	name, value = string(parts[0]), string(parts[1])
	if state == inValue && quote == 0 {
		return name, strings.TrimRight(value, " \t\n\v\f\r"), true
	}
	return name, value, state == behindValue || state == behindEqual && c != Debian
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
