package discover

import (
	"regexp"
	"strings"
)

// wrappedForm is the prefix of a line that Rollcall has wrapped.
var wrappedForm = regexp.MustCompile(`^\[ -x (\S+) \] && set -- (\S+) run --settings (\S+) --slug ([a-z0-9_-]+) --; "\$@" `)

var quotedShell = regexp.MustCompile(`^(/\S*/(?:sh|bash|dash|ash|ksh|zsh)) -c '`)

// Unwrap returns the command that stood in a line of a crontab before Rollcall wrapped it, and the slug. Text is the command of the
// line as the file has it, before cron decodes it. A line that is not wrapped returns itself.
func Unwrap(text string) (command, slug string, ok bool) {
	found := wrappedForm.FindStringSubmatch(text)
	if found == nil || found[1] != found[2] {
		return text, "", false
	}
	rest := text[len(found[0]):]
	if quoted := quotedShell.FindString(rest); quoted != "" {
		if inner, after, ok := unquote(rest[len(quoted):]); ok && (after == "" || after[0] == '%') {
			rest = inner + after
		}
	}
	return rest, found[4], true
}

// unquote reads up to the closing quote, with each '\” as a quote.
func unquote(text string) (inner, after string, ok bool) {
	var b strings.Builder
	for {
		part, rest, found := strings.Cut(text, "'")
		if !found {
			return "", "", false
		}
		b.WriteString(part)
		if text = rest; !strings.HasPrefix(text, `\''`) {
			return b.String(), text, true
		}
		b.WriteByte('\'')
		text = text[len(`\''`):]
	}
}
