package cause

import (
	"regexp"
	"strings"
	"unicode"
)

// The scores of lines. Those of an error add up: "error:" and "permission denied" say more than either.
const (
	status    = -1 // only the exit status, which is known
	plain     = 0
	warning   = 1
	summary   = 2  // says that something failed, but not what
	weak      = 4  // a word for an error
	fatal     = 3  // a word for an error that ends the program
	strong    = 8  // what went wrong
	located   = 1  // file and line, or a word besides the level
	exception = 30 // ended the program
)

// level is the level of a line of a log; 0 is unknown.
type level int

const (
	levelInfo level = iota + 1
	levelWarning
	levelError
	levelFatal
)

var levels = map[string]level{
	"TRACE": levelInfo, "DEBUG": levelInfo, "INFO": levelInfo, "NOTICE": levelInfo, "INFORMATION": levelInfo,
	"WARN": levelWarning, "WARNING": levelWarning,
	"ERROR": levelError, "ERR": levelError, "FATAL": levelFatal, "CRITICAL": levelFatal, "CRIT": levelFatal, "PANIC": levelFatal,
	"EMERG": levelFatal, "ALERT": levelFatal, "SEVERE": levelFatal,
}

// numbered are the levels of bunyan and pino.
var numbered = map[string]level{"10": levelInfo, "20": levelInfo, "30": levelInfo, "40": levelWarning, "50": levelError, "60": levelFatal}

// wordScores are the scores of words in lower case.
var wordScores = scores(map[int]string{
	weak: `error errors err failed failure failures fail fails failing cannot couldn unable abort aborted aborting exception unexpected
		unexpectedly rejected unhandled uncaught crashed crash mismatch terminated dumped died broken expected timeout wrong incomplete unauthorized`,
	weak + fatal: `fatal panic panicked critical emerg severe`,
	strong: `denied refused unreachable exceeded corrupt corrupted forbidden killed invalid missing undefined unresolvable
		unavailable overflow`,
})

func scores(lists map[int]string) map[string]int {
	all := make(map[string]int)
	for points, words := range lists {
		for word := range strings.FieldsSeq(words) {
			all[word] = points
		}
	}
	return all
}

// strongPhrases say what went wrong.
var strongPhrases = append([]string{
	"no such ", "not found", "does not exist", "doesn't exist", "timed out", "disk full", "is full", "disk quota", "can't open",
	"could not resolve", "couldn't resolve", "authentication failed", "verification failed", "already locked", "unknown option",
	"unknown host", "unrecognized option", "syntax error", "unbound variable", "closed by", "connection reset",
	"cannot open", "cannot connect", "could not connect", "unable to connect", "unable to resolve", "not permitted", "permission to ",
	"index out of range", "division by zero", "nil pointer", "null pointer", "access violation", "not a directory", "not a valid", "not a regular", "violates ", "not enough ", "too large",
	"too long", "read-only", "oom-kill", "oom killer",
}, conditionPhrases()...)

var weakPhrases = []string{"can't ", "can not ", "could not ", "couldn't ", "giving up", "not possible"}

// nothing matches counts of no errors.
var nothing = regexp.MustCompile(`\b(?:0|no|zero|without(?: any)?) (?:errors?|failures?|failed|fatal|warnings?)\b|\b[a-z]+\s*[:=]\s*0\b`)

// The forms of lines that say that something failed, but not what.
var (
	statusOnly = regexp.MustCompile(`^(?:[\w./-]+: )?(?:(?:process|command|program|script|job|task) )?(?:exit(?:ed|ing)?(?: with)?(?: status| code)?|return(?:ed)? code|rc|status)[ :=]*-?\d+\.?$`)
	summaries  = regexp.MustCompile(`\*\*\* .*\berror -?\d+$|\bcode=(?:exited|killed|dumped)\b|^failed to start .*\.$` +
		`|previous errors?\b|see (?:previous|above|below|the log)|^--- fail: |^fail(?:ed|ure)?(?:$|\s+\S+\s+[\d.]+s$| \(.*\)$)|with error status|^error: exit |exit(?:ed)?(?: with)?(?: a)?(?: non-?zero)? (?:status|code|failure)` +
		`|non-?zero exit|\(code \d+\) at \S+\.c\(\d+\)|^(?:\w+ )?(?:elifecycle|errno|syscall|code|lifecycle)\b|^errors?: +\d+\b|\b\d+ (?:failed|failures?)\b|^[\w./-]+[: ]+(?:backup |job |task |script |build )?(?:has )?failed[.!]?$`)
	location   = regexp.MustCompile(`^(?:\./)?[\w./\\-]+\.\w+(?::\d+|: line \d+)`)
	thrower    = formWith([]string{"Error", "Exception", "Interrupt"}, `^(?:Exception in thread "[^"]*" )?(?:[A-Za-z_$][\w$]*(?:\.|::|\\))*[A-Za-z_$][\w$]*(?:Error|Exception|Interrupt)(?: \[\w+\])?(?:: .*)?$`)
	rubyThrows = formWith([]string{":in "}, "^\\S+:\\d+:in [`'].*\\([A-Z]\\w*(?:::\\w+)*\\)$")
	perlDies   = regexp.MustCompile(` at \S+ line \d+(?:, <\$?\w*> (?:line|chunk) \d+)?\.$`)
	compiler   = formWith([]string{"warning"}, `(?:^|[ :])warning:? `)
)

// prefix matches the name and the level that some programs put before all lines of a message.
var prefix = formWith([]string{"err", "fatal", "warn", "["}, `^(?:[\w./-]+(?:\[\d+\])?:? )?(?:err!|error:?|fatal:?|warn(?:ing)?:?|\[[a-z]+\]) +`)

// score returns the score of a line, given also in lower case.
func score(text, lower string) int {
	level := levelOf(text)
	if level == levelInfo || strings.HasPrefix(text, "+ ") { // sh -x
		return plain
	}
	if isException(text, lower) {
		return exception
	}
	if strings.ContainsAny(lower, "0") || strings.Contains(lower, "no ") || strings.Contains(lower, "without ") {
		lower = nothing.ReplaceAllString(lower, "")
	}
	marked := len(prefix.FindString(lower))
	rest := lower[marked:]
	switch points := weightOf(lower); {
	case statusOnly.MatchString(rest):
		return status
	case level == levelWarning || compiler.MatchString(lower):
		return warning
	case points == 0 && perlDies.MatchString(text):
		return weak
	case points == 0:
		return plain
	case summaries.MatchString(rest) && points < weak+strong, strings.Contains(rest, "failed with result '"):
		return summary
	case location.MatchString(text) || perlDies.MatchString(text):
		return points + located
	case marked > 0 && weightOf(rest) > 0: // many lines have the level, but fewer say more
		return points + located
	default:
		return points
	}
}

// weightOf adds up what the words of a line say.
func weightOf(lower string) int {
	var isWeak, isFatal, isStrong bool
	for word := range strings.FieldsFuncSeq(lower, func(r rune) bool { return !unicode.IsLetter(r) }) {
		switch wordScores[word] {
		case weak:
			isWeak = true
		case weak + fatal:
			isWeak, isFatal = true, true
		case strong:
			isStrong = true
		}
	}
	isStrong = isStrong || containsAny(lower, strongPhrases)
	isWeak = isWeak || containsAny(lower, weakPhrases)
	total := 0
	for _, part := range []struct {
		has    bool
		points int
	}{{isWeak, weak}, {isFatal, fatal}, {isStrong, strong}} {
		if part.has {
			total += part.points
		}
	}
	if total == 0 && strings.Contains(lower, ": ") && location.MatchString(lower) {
		total = weak // a compiler, or a test
	}
	return total
}

// form is an expression that matches only what has one of some words. They are quick to look for, and most lines have none.
type form struct {
	words []string
	whole *regexp.Regexp
}

func formWith(words []string, expression string) form {
	return form{words, regexp.MustCompile(expression)}
}

// MatchString reports whether the text matches.
func (f form) MatchString(text string) bool {
	return containsAny(text, f.words) && f.whole.MatchString(text)
}

// FindString returns the first match, or "".
func (f form) FindString(text string) string {
	if !containsAny(text, f.words) {
		return ""
	}
	return f.whole.FindString(text)
}

func containsAny(text string, list []string) bool {
	for _, item := range list {
		if strings.Contains(text, item) {
			return true
		}
	}
	return false
}

// levelOf finds the level of a line of a log: one of its first words in capital letters, or in brackets.
func levelOf(text string) level {
	head := text[:min(len(text), 80)]
	if i := strings.Index(head, "level="); i >= 0 {
		word, _, _ := strings.Cut(head[i+len("level="):], " ")
		return levels[strings.ToUpper(strings.Trim(word, `"`))]
	}
	words := 0
	for word := range strings.FieldsFuncSeq(head, func(r rune) bool { return strings.ContainsRune(" \t:|-[](){}<>", r) }) {
		if l := levels[word]; l != 0 {
			return l
		}
		if words++; words == 5 {
			break
		}
	}
	if strings.HasPrefix(text, "[") {
		word, _, _ := strings.Cut(text[1:], "]")
		return levels[strings.ToUpper(word)]
	}
	if word, _, found := strings.Cut(text, ":"); found {
		return levels[strings.ToUpper(word)]
	}
	return 0
}

// isException reports whether a line is the message of an exception that ended the program.
func isException(text, lower string) bool {
	for _, start := range []string{"panic: ", "caused by: ", "[cause]: ", "unhandled exception", "uncaught exception", "fatal error: "} {
		if strings.HasPrefix(lower, start) {
			return true
		}
	}
	return strings.Contains(lower, "error:  uncaught ") || strings.Contains(lower, "error: uncaught ") ||
		thrower.MatchString(text) || rubyThrows.MatchString(text)
}

// hints are how lines begin that explain or advise.
var hints = []string{
	"hint:", "note:", "help:", "usage:", "usage ", "see ", "try ", "for more ", "run `", "run '", "did you mean", "context:",
	"statement:", "a complete log", "this is related to", "(use ", "(background on", "node.js v", "thrown in ", "from:", "created by ",
	"use --", "please see", "more info", "to see ", "-- ", "query was:", "detail: query was:", "bug reports", "please report",
}

// progress matches what moves while a job runs, names of logs, and quoted code.
var progress = formWith([]string{"%", "--:--", "/log", "|"}, `\d%.*(?:[=#>.█]{3}|/s\b|eta\b)|[=#█]{5}.*\d%|--:--:--|/logs?/\S+\.log$|^\d+ +\||^\|[ -]*\^`)

// isNoise reports whether a line never says why.
func isNoise(text, lower string) bool {
	if !strings.ContainsFunc(text, unicode.IsLetter) {
		return true
	}
	rest := lower
	for range 2 { // a name, and what is before a hint
		for _, hint := range hints {
			if strings.HasPrefix(rest, hint) {
				return true
			}
		}
		if head := prefix.FindString(rest); head != "" {
			rest = rest[len(head):]
		} else if name, tail, found := strings.Cut(rest, ": "); found && !strings.Contains(name, " ") {
			rest = tail
		}
	}
	return rest == "" || progress.MatchString(lower)
}
