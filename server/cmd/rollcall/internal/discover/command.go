package discover

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// services are the services that watch jobs, by what their pings look like.
var services = []struct {
	name string
	form *regexp.Regexp
}{
	{"rollcall", regexp.MustCompile(`(^|[\s/;&|'"(])rollcall(\.exe)?\s+(-\S+\s+)*(run|ping)\b|\bROLLCALL_PING_`)},
	{"cronitor", regexp.MustCompile(`(^|[\s/;&|'"(])cronitor\s+(\S+\s+)*?(exec|ping)\b|\bcronitor\.(link|io)\b`)},
	{"healthchecks", regexp.MustCompile(`\bhc-ping\b|\bhealthchecks\.io\b|(^|[\s/;&|'"(])(runitor|hchk)\s`)},
	{"deadmanssnitch", regexp.MustCompile(`\bnosnch\.in\b|\bdeadmanssnitch\.com\b`)},
	{"betterstack", regexp.MustCompile(`\bbetterstack\.com/api/v1/heartbeat|\bbetteruptime\.com/api/v1/heartbeat`)},
	{"sentry", regexp.MustCompile(`(^|[\s/;&|'"(])sentry-cli\s+(-\S+\s+)*monitors\b|/api/\d+/cron/`)},
	{"cronhub", regexp.MustCompile(`\bcronhub\.io\b`)},
	{"ohdear", regexp.MustCompile(`\bping\.ohdear\.app\b`)},
	{"uptimerobot", regexp.MustCompile(`\bheartbeat\.uptimerobot\.com\b`)},
	{"uptimekuma", regexp.MustCompile(`/api/push/\w`)},
}

// serviceOf returns the service to which a command reports, or "".
func serviceOf(text string) string {
	for _, s := range services {
		if s.form.MatchString(text) {
			return s.name
		}
	}
	return ""
}

// ownSlug is the slug in a command of Rollcall.
var ownSlug = regexp.MustCompile(`(?:^|[\s/])rollcall(?:\.exe)?\s(?:[^;&|]*?\s)?--slug[ =]'?"?([a-z0-9_-]+)`)

// slugOf returns the slug with which a command reports to Rollcall, or "".
func slugOf(text string) string {
	if found := ownSlug.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// builtins are commands that a shell runs itself, perhaps in another way than the program of the same name.
var builtins = set(`cd pushd popd test [ [[ source . echo printf true false : export set unset umask ulimit exit return trap wait read eval exec
	local declare typeset readonly shift let alias unalias type hash command builtin kill pwd times time bg fg jobs getopts break continue
	if then elif else fi for while until do done case esac select function { } ! history disown print`)

// posixShells are those that understand the prefix of a wrapped line.
var posixShells = set("sh bash dash ash ksh zsh")

const (
	defaultShell = "/bin/sh"
	// debianCommand is the longest command in bytes that Debian's cron takes.
	debianCommand = 998
	// wrapping is about how long the prefix of a wrapped line is, without the slug.
	wrapping = 118
)

// cronCommand is the command of a line of a crontab, for which wrapFor decides.
type cronCommand struct {
	command string // decoded
	raw     string // as in the file
	stdin   bool   // it has a % that ends it
	shell   string // SHELL of the crontab, or ""
	daemon  Cron
	reports bool
	slug    string
}

// wrapFor returns how a line can be wrapped.
func (l cronCommand) wrapFor(at int) Wrap {
	w := Wrap{Mode: Plain, InsertAt: at}
	none := func(reason string) Wrap { return Wrap{Mode: None, Reason: reason} }
	s := parseShell(l.command)
	shell := l.shell
	if shell == "" {
		shell = defaultShell
	}
	switch {
	case l.reports:
		return none("reports")
	case strings.Contains(l.raw, "\r"):
		return none("carriage-return")
	case s.background:
		return none("background")
	case !posixShells[path.Base(shell)]:
		return none("shell")
	}
	length := len(l.raw) + wrapping + len(l.slug)
	if l.stdin || !s.plain || !plainStart(s) {
		w.Mode, w.Shell = Shell, shell
		length += len(shell) + len(" -c ''") + 3*strings.Count(l.raw, "'")
	}
	if l.daemon == Debian && length > debianCommand {
		return none("too-long")
	}
	return w
}

// plainStart reports whether a command begins with the name of a program.
func plainStart(s script) bool {
	first := s.commands[0].words
	return len(first) > 0 && !builtins[first[0].text] && !assignment.MatchString(first[0].raw)
}

var (
	wholeNumber = `(\d+(?:\.\d+)?)\s*([smhd]?)`
	fixedTime   = regexp.MustCompile(`^` + wholeNumber + `$`)
	// randomSleep finds the bound of a random sleep: $((RANDOM % 600)), $(shuf -i 0-600 -n 1), $(expr $RANDOM % 600), rand(600).
	randomSleeps = []*regexp.Regexp{
		regexp.MustCompile(`RANDOM\s*\\?%\s*(\d+)[^smhd]*([smhd]?)\s*$`),
		regexp.MustCompile(`shuf\s+[^)]*?-i\s*\d+-(\d+)[^)]*\)([smhd]?)`),
		regexp.MustCompile(`rand(?:om)?\s*\(\s*(\d+)()`),
		regexp.MustCompile(`rand\s+(\d+)()`),
		regexp.MustCompile(`random\(\)\s*\*\s*(\d+)()`),
		regexp.MustCompile(`rand(?:int|range)\(\s*(?:\d+\s*,\s*)?(\d+)()`),
	}
)

// sleeps returns how long the sleeps in front of a command last at most.
func sleeps(text string) []delay {
	var list []delay
	for _, c := range parseShell(text).commands {
		a := c.args()
		switch {
		case len(a) == 0 || idle[path.Base(a[0])] && path.Base(a[0]) != "sleep":
		case path.Base(a[0]) == "sleep":
			if d := sleepTime(a[1:]); d > 0 {
				list = append(list, delay{d, "sleep in the command"})
			}
		case interpreter.MatchString(path.Base(a[0])) && strings.Contains(text, "sleep") && argsName(a, 0) == "":
			for _, word := range a[1:] {
				if d := randomTime(word); d > 0 {
					list = append(list, delay{d, "random sleep in the command"})
					break
				}
			}
		case shells[path.Base(a[0])] && slices.ContainsFunc(a, func(word string) bool { return strings.Contains(word, "sleep") }):
			for _, word := range a[1:] {
				if strings.Contains(word, " ") {
					list = append(list, sleeps(word)...)
				}
			}
			return list
		default:
			return list // what follows the first command that works is part of the run
		}
	}
	return list
}

func sleepTime(a args) (total time.Duration) {
	for _, word := range a {
		if found := fixedTime.FindStringSubmatch(word); found != nil {
			total += timeOf(found[1], found[2])
			continue
		}
		total += randomTime(word)
	}
	return total
}

func randomTime(text string) time.Duration {
	for _, form := range randomSleeps {
		if found := form.FindStringSubmatch(text); found != nil {
			return timeOf(found[1], found[2])
		}
	}
	return 0
}

// maxTime bounds a duration that a file names.
const maxTime = 10 * 365 * 24 * time.Hour

// timeOf reads a number with a unit as of sleep and timeout.
func timeOf(number, unit string) time.Duration {
	n, err := strconv.ParseFloat(number, 64)
	of := map[string]time.Duration{"": time.Second, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[unit]
	if err != nil || n*float64(of) > float64(maxTime) {
		return 0
	}
	return time.Duration(n * float64(of))
}

// limit returns the time after which timeout ends a command, or 0.
func limit(text string) time.Duration {
	for _, c := range parseShell(text).commands {
		if d := limitOf(c.args(), 0); d > 0 {
			return d
		}
	}
	return 0
}

// limitOf looks for timeout behind other programs that run a command.
func limitOf(a args, depth int) time.Duration {
	if len(a) == 0 || depth > maxDepth {
		return 0
	}
	base := path.Base(a[0])
	w, ok := wrappers[base]
	switch {
	case base == "timeout" || base == "gtimeout":
		if rest := a[1:].skip(w.values); len(rest) > 0 {
			if found := fixedTime.FindStringSubmatch(rest[0]); found != nil {
				return timeOf(found[1], found[2])
			}
		}
	case ok && w.script == "" || base == "flock" || base == "env":
		rest := a[1:].skip(w.values).withoutAssignments()
		return limitOf(rest[min(w.skip, len(rest)):], depth+1)
	case shells[base]:
		if line, ok := a[1:].value("-c"); ok {
			return limit(line)
		}
	}
	return 0
}
