package discover

import "errors"

// Cron is a kind of cron daemon.
type Cron string

// The daemons whose rules are known. SUSE's is a cronie with another way to run /etc/cron.daily and its siblings.
const (
	Debian  Cron = "debian"
	Cronie  Cron = "cronie"
	Busybox Cron = "busybox"
	SUSE    Cron = "suse"
)

// Crons lists all kinds.
var Crons = []Cron{Debian, Cronie, Busybox, SUSE}

// read reads the fields of a line.
func (c Cron) read(r *cronRange, text string) (cronField, error) {
	switch c {
	case Cronie, SUSE:
		return cronieField(r, text)
	case Busybox:
		return busyboxField(r, text)
	}
	return vixieField(r, text)
}

// entryLine is a line of a crontab that the daemon takes for a job.
type entryLine struct {
	reboot  bool
	spec    cronSpec
	user    string // of a system crontab
	at      int    // where the command begins
	command string // as in the file
}

var (
	errSpecifier = errors.New("bad time specifier")
	errCommand   = errors.New("bad command")
	errUser      = errors.New("bad username")
	errOption    = errors.New("bad option")
	errLong      = errors.New("bad command too long")
	errNothing   = errors.New("no command")
)

// parse reads a line that is neither blank nor a comment nor an assignment. System crontabs have a user behind the fields; known
// reports whether a name is one.
func (c Cron) parse(text string, system, root bool, known func(string) bool) (entryLine, error) {
	var e entryLine
	p := position{text: text}
	p.blanks()
	if c != Debian && c != Busybox && p.has('-') {
		if !system && !root {
			return e, errOption
		}
		p.at++
	}
	if err := c.when(&e, &p); err != nil {
		return e, err
	}
	if c == Busybox {
		p.blanks()
	}
	if system {
		start := p.at
		p.word()
		if e.user = text[start:p.at]; e.user == "" {
			return e, errNothing
		}
		if !known(e.user) {
			return e, errUser
		}
		p.blanks()
	} else if p.has('*') && c != Busybox {
		return e, errCommand
	}
	return e, c.command(&e, &p)
}

// command reads the command behind the fields, the user and the options.
func (c Cron) command(e *entryLine, p *position) error {
	if c == Cronie || c == SUSE {
		if err := p.options(); err != nil {
			return err
		}
	}
	e.at, e.command = p.at, p.text[p.at:]
	if c == Busybox {
		e.command = trimBlanks(e.command)
	}
	if e.command == "" || e.command == "\r" {
		return errNothing
	}
	if limit := c.longest(); len(e.command) > limit {
		return errLong
	}
	return nil
}

// longest is how many bytes a command may have.
func (c Cron) longest() int {
	switch c {
	case Debian:
		return debianCommand
	case Busybox:
		return maxFile
	}
	return 131_071
}

// when reads a macro or five fields, and the blanks behind them.
func (c Cron) when(e *entryLine, p *position) error {
	if p.has('@') {
		start := p.at
		p.word()
		word := p.text[start:p.at]
		p.blanks()
		if word == "@reboot" {
			e.reboot = true
			return nil
		}
		fields, ok := macros[word]
		if !ok {
			return errSpecifier
		}
		return c.when(e, &position{text: fields})
	}
	for i, r := range cronRanges {
		start := p.at
		p.word()
		f, err := c.read(r, p.text[start:p.at])
		if err != nil {
			return errors.New("bad " + r.name)
		}
		if c == Busybox {
			f.text = p.text[start:p.at]
		}
		e.spec.fields[i] = f
		p.blanks()
	}
	if c == Busybox {
		e.spec.byUse()
	} else {
		e.spec.byStars()
	}
	return nil
}

// position is a place in a line.
type position struct {
	text string
	at   int
}

func (p *position) has(c byte) bool { return p.at < len(p.text) && p.text[p.at] == c }

func (p *position) blanks() {
	for p.has(' ') || p.has('\t') {
		p.at++
	}
}

// word moves behind a word.
func (p *position) word() {
	for p.at < len(p.text) && !p.has(' ') && !p.has('\t') {
		p.at++
	}
}

// options skips cronie's -n.
func (p *position) options() error {
	for seen := false; p.has('-'); seen = true {
		rest := p.text[p.at:]
		if seen || len(rest) < 3 || rest[1] != 'n' || rest[2] != ' ' && rest[2] != '\t' {
			return errOption
		}
		p.at += 2
		p.blanks()
	}
	return nil
}

func trimBlanks(s string) string {
	for len(s) > 0 && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

// decode applies the rules of % and \ to a command. Found says that a % ends it; the rest is its standard input.
func (c Cron) decode(text string) (command, stdin string, found bool) {
	if c == Busybox {
		return text, "", false
	}
	var out []byte
	escaped := false
	for i := range len(text) {
		ch := text[i]
		switch {
		case escaped:
			escaped = false
			if ch == '%' || ch == '\\' && c == Debian {
				out[len(out)-1] = ch
				continue
			}
		case ch == '\\':
			escaped = true
		case ch == '%':
			return string(out), input(text[i+1:]), true
		}
		out = append(out, ch)
	}
	return string(out), "", false
}

// input decodes what follows the first %: each further one is a line break unless it is escaped.
func input(text string) string {
	if text == "" {
		return ""
	}
	var out []byte
	escaped := false
	for i := range len(text) {
		ch := text[i]
		switch {
		case escaped && ch != '%':
			out = append(out, '\\')
		case !escaped && ch == '%':
			ch = '\n'
		}
		if escaped = ch == '\\'; !escaped {
			out = append(out, ch)
		}
	}
	if escaped {
		out = append(out, '\\')
	}
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	return string(out)
}
