// Package wrap makes jobs report: it puts rollcall run in front of the commands of crontabs and drop-ins beside the services of
// systemd, and takes them away again. A wrapped line runs as before if rollcall is missing:
//
//	0 3 * * * /usr/local/bin/backup --all
//	0 3 * * * [ -x R ] && set -- R run --settings FILE --slug alder-backup --; "$@" /usr/local/bin/backup --all
//
// Without R, "$@" is empty. A command that needs a shell is quoted for it, up to the % that ends it for cron (# for BusyBox's):
//
//	0 3 * * * [ -x R ] && set -- R run --settings FILE --slug alder-dump --; "$@" /bin/sh -c 'dump | gzip >/srv/db.gz'
//
// [Form.Wrap] and [Form.DropIn] are pure. A [Plan] has the changes of a machine; its Apply writes them.
package wrap

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// Form is what the wrapped jobs of one user share, and the slug of one of them.
type Form struct {
	Binary   string // the absolute path of rollcall
	Settings string // the absolute path of the file with the ping key
	Slug     string
}

// Refusal is an error that says why a job is left as it is.
type Refusal struct {
	Reason string // a code, as those of discover.Wrap
	Detail string // for people
}

func (r *Refusal) Error() string { return r.Detail }

func refuse(reason, format string, args ...any) error {
	return &Refusal{reason, fmt.Sprintf(format, args...)}
}

// Command is where the command of a crontab's line stands, and how cron runs it.
type Command struct {
	At    int    // the byte of the line where the command begins
	Shell string // the shell to quote it for, or "" if it is one program with plain words
	End   byte   // what ends it for cron, unless a backslash precedes: % or, for BusyBox's, any #; 0 for none
	Max   int    // how many bytes cron reads of it
}

// MaxDebian and MaxCronie are the longest commands that Debian's cron and cronie read, in bytes. A longer one makes Debian's ignore
// the file.
const MaxDebian, MaxCronie = 998, 131_071

const (
	// word matches a word that neither cron nor any shell changes.
	word = `[A-Za-z0-9_./:@+,=-]+`
	open = `"$@" `
)

var (
	plainWord = regexp.MustCompile(`^` + word + `$`)
	// prefix matches what stands in front of a wrapped command, also with flags that somebody has added.
	prefix   = regexp.MustCompile(`\[ -x (` + word + `) \] && set -- (` + word + `) run ((?:` + word + ` )*)--; "\$@" `)
	slugFlag = regexp.MustCompile(`(?:^| )--slug[ =](\S+)`)
	// quoted matches the beginning of a command in quotes.
	quoted = regexp.MustCompile(`^/` + word + ` -c '`)
)

// Validate says which of the paths and the slug cannot stand in a line.
func (f Form) Validate() error {
	for what, path := range map[string]string{"binary": f.Binary, "settings": f.Settings} {
		if !strings.HasPrefix(path, "/") || !plainWord.MatchString(path) {
			return refuse(what, "the path %q cannot stand in a crontab or unit: it must be absolute and may have letters, digits and _./:@+,=- only", path)
		}
	}
	if !plainWord.MatchString(f.Slug) || strings.HasPrefix(f.Slug, "-") {
		return refuse("slug", "the slug %q cannot stand in a crontab or unit", f.Slug)
	}
	return nil
}

// Wrap returns a crontab's line, without its line break, in its wrapped form. Unwrap restores it byte by byte.
func (f Form) Wrap(line []byte, c Command) ([]byte, error) {
	switch {
	case c.At < 0 || c.At > len(line):
		return nil, refuse("syntax", "the line has no command")
	case prefix.Match(line):
		return nil, refuse("reports", "the line is wrapped already")
	case bytes.IndexByte(line, '\r') >= 0:
		return nil, refuse("carriage-return", "the line has a carriage return, which the shell takes for a part of the command")
	case bytes.ContainsAny(line, "\x00\n"):
		return nil, refuse("syntax", "the line has a NUL byte or a line break")
	}
	if err := f.Validate(); err != nil {
		return nil, err
	}
	command, rest := line[c.At:], []byte(nil)
	var out bytes.Buffer
	out.Write(line[:c.At])
	fmt.Fprintf(&out, "[ -x %s ] && set -- %[1]s run --settings %s --slug %s --; %s", f.Binary, f.Settings, f.Slug, open)
	switch {
	case c.Shell != "":
		command, rest = c.cut(command)
		fmt.Fprintf(&out, "%s -c '%s'", c.Shell, bytes.ReplaceAll(command, []byte(`'`), []byte(`'\''`)))
	case quoted.Match(command) || bytes.HasPrefix(command, []byte(" ")):
		out.WriteByte(' ') // a second blank says that the quotes are those of the command
		fallthrough
	default:
		out.Write(command)
	}
	out.Write(rest)
	if size := out.Len() - c.At; c.Max > 0 && size > c.Max {
		return nil, refuse("too-long", "the command would have %d bytes, and cron reads %d at most", size, c.Max)
	}
	if again, _, ok := Unwrap(out.Bytes()); !ok || !bytes.Equal(again, line) {
		return nil, refuse("syntax", "the line could not be restored later")
	}
	return out.Bytes(), nil
}

// cut splits a command where it ends for cron.
func (c Command) cut(command []byte) (before, rest []byte) {
	escaped := false
	for i, b := range command {
		switch {
		case escaped:
			escaped = false
		case b == '\\' && c.End == '%':
			escaped = true
		case b == c.End: // a NUL byte is refused before
			return command[:i], command[i:]
		}
	}
	return command, nil
}

// Unwrap returns a line, or its end that begins with the command, without what Wrap put into it, and the slug. It takes away that
// text alone, so what somebody edited since stays. It reports false for a line that is not wrapped.
func Unwrap(line []byte) (restored []byte, slug string, ok bool) {
	at := prefix.FindSubmatchIndex(line)
	if at == nil || !bytes.Equal(line[at[2]:at[3]], line[at[4]:at[5]]) {
		return line, "", false
	}
	if found := slugFlag.FindSubmatch(line[at[6]:at[7]]); found != nil {
		slug = string(found[1])
	}
	command := line[at[1]:]
	if verbatim, ok := bytes.CutPrefix(command, []byte(" ")); ok {
		command = verbatim
	} else if inner, rest, ok := unquote(command); ok {
		command = append(inner, rest...)
	}
	return append(bytes.Clone(line[:at[0]]), command...), slug, true
}

// unquote returns a command without its shell and quotes, and what stands behind its end for cron. It reports false if
// anything else follows the quotes, which belongs to the command of the outer shell then.
func unquote(command []byte) (inner, rest []byte, ok bool) {
	start := quoted.Find(command)
	if start == nil {
		return nil, nil, false
	}
	for rest = command[len(start):]; ; {
		end := bytes.IndexByte(rest, '\'')
		if end < 0 {
			return nil, nil, false
		}
		inner, rest = append(inner, rest[:end]...), rest[end+1:]
		var more bool
		if rest, more = bytes.CutPrefix(rest, []byte(`\''`)); !more {
			return inner, rest, len(rest) == 0 || rest[0] == '%' || rest[0] == '#'
		}
		inner = append(inner, '\'')
	}
}
