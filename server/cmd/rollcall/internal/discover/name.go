package discover

import (
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxDepth bounds how many programs that run others are looked through.
const maxDepth = 20

// commandName returns the name of the first program of a command line that does work.
func commandName(text string) string {
	if name := lineName(text, 0); name != "" {
		return name
	}
	for _, c := range parseShell(text).commands { // nothing does work
		if words := c.args(); len(words) > 0 {
			return program(words[0])
		}
	}
	return ""
}

// lineName returns "" if no command of the line does work.
func lineName(text string, depth int) string {
	if depth > maxDepth {
		return ""
	}
	for _, c := range parseShell(text).commands {
		if name := argsName(c.args(), depth); name != "" {
			return name
		}
	}
	return ""
}

// args returns the words of a command without reserved words and assignments in front.
func (c simple) args() args {
	words := c.words
	for len(words) > 0 && !words[0].quoted && reserved[words[0].text] || len(words) > 0 && assignment.MatchString(words[0].raw) {
		words = words[1:]
	}
	if len(words) > 0 && !words[0].quoted && (words[0].text == "for" || words[0].text == "case" || words[0].text == "select" || words[0].text == "function") {
		return nil // the head of a loop; its body follows as other commands
	}
	list := make(args, len(words))
	for i, w := range words {
		list[i] = w.text
	}
	return list
}

// argsName returns the name of a command, or "" if it does no work.
func argsName(a args, depth int) string {
	if len(a) == 0 || depth > maxDepth {
		return ""
	}
	base := path.Base(strings.TrimRight(a[0], "\r"))
	name, rest := program(a[0]), a[1:]
	switch {
	case idle[base] || base == "command" && rest.option():
		return ""
	case base == "command":
		return argsName(rest, depth+1)
	case shells[base]:
		return shellName(base, rest, depth)
	case containers[base]:
		return containerName(base, rest, depth)
	case interpreter.MatchString(base):
		return interpreterName(base, rest, depth)
	case base == "java":
		return javaName(rest)
	case base == "curl" || base == "wget":
		return urlName(base, rest)
	case base == "sentry-cli" && len(rest) > 2 && rest[0] == "monitors":
		return argsName(rest[2:].skip(nil).skipTo("--"), depth+1)
	}
	if w, ok := wrappers[base]; ok {
		return w.name(base, rest, depth)
	}
	if sub, ok := runners[base]; ok && len(rest) > 0 && (rest.firstWord(nil) == sub || sub == "") {
		return runnerName(base, rest, depth)
	}
	return withSubcommand(name, rest)
}

// skipTo removes what stands before a word, and the word, if it is present.
func (a args) skipTo(word string) args {
	for i, w := range a {
		if w == word {
			return a[i+1:]
		}
	}
	return a
}

// withSubcommand adds the subcommand of programs that do nothing without.
func withSubcommand(name string, rest args) string {
	if !subcommands[name] {
		return name
	}
	sub := rest.firstWord(subcommandValues)
	if (name == "npm" || name == "yarn" || name == "pnpm") && (sub == "run" || sub == "run-script") {
		sub = rest.skip(subcommandValues)[1:].firstWord(subcommandValues)
	}
	if sub == "" || assignment.MatchString(sub) {
		return name
	}
	return name + "-" + sub
}

// name returns the name of what a wrapper runs, or its own if that is nothing.
func (w wrapper) name(base string, rest args, depth int) string {
	if w.script == base { // eval
		return lineName(strings.Join(rest, " "), depth+1)
	}
	if w.script != "" {
		if line, ok := rest.beforeCommand(w).value(w.script); ok {
			return lineName(line, depth+1)
		}
	}
	rest = rest.skip(w.values)
	if w.assigns {
		rest = rest.withoutAssignments()
	}
	if base == "su" || base == "runuser" && len(rest) > 0 && rest[0] == "-" {
		return base // a shell without a command
	}
	rest = rest[min(w.skip, len(rest)):]
	if w.assigns {
		rest = rest.skip(w.values).withoutAssignments()
	}
	if base == "chpst" || base == "flock" {
		rest = rest.skip(nil)
	}
	if len(rest) == 0 {
		return base
	}
	return argsName(rest, depth+1)
}

// beforeCommand returns the words in which a wrapper's option may stand: for su all of them, otherwise only those before the command.
func (a args) beforeCommand(w wrapper) args {
	if w.skip == 0 && !w.assigns {
		return a
	}
	rest := a.skip(w.values)
	end := len(a) - len(rest) + w.skip
	for end < len(a) && a[end][0:min(1, len(a[end]))] == "-" { // flock LOCK -c COMMAND
		end = min(end+2, len(a))
	}
	return a[:min(end, len(a))]
}

// shellName is for a shell: the command line of -c, or the script.
func shellName(base string, rest args, depth int) string {
	for len(rest) > 0 && rest[0] != "-" && rest[0] != "--" && strings.IndexByte("-+", (rest[0] + " ")[0]) >= 0 {
		long := strings.HasPrefix(rest[0], "--")
		switch {
		case !long && strings.Contains(rest[0], "c") && len(rest) > 1:
			return lineName(rest[1:].skip(nil)[0], depth+1)
		case (!long && strings.HasSuffix(strings.ToLower(rest[0]), "o") || rest[0] == "--rcfile" || rest[0] == "--init-file") && len(rest) > 1:
			rest = rest[1:]
		}
		rest = rest[1:]
	}
	if rest = rest.skip(nil); len(rest) == 0 {
		return base
	}
	return program(rest[0])
}

// interpreterName is for an interpreter: the script, or the module of python's -m.
func interpreterName(base string, rest args, depth int) string {
	python := strings.HasPrefix(base, "py")
	for len(rest) > 0 && (rest.option() || (base == "deno" || base == "bun") && rest[0] == "run") {
		switch option := rest[0]; {
		case option == "-m" && python && len(rest) > 1:
			module := rest[1]
			return withSubcommand(module[strings.LastIndexByte(module, '.')+1:], rest[2:])
		case option == "-f" && strings.HasPrefix(base, "php") && len(rest) > 1:
			return program(rest[1])
		case (option == "-c" && python || option == "-e" || option == "-E" || option == "-r" && strings.HasPrefix(base, "php")) && len(rest) > 1:
			if strings.Contains(rest[1], "sleep") {
				return ""
			}
			return program(base)
		case interpreterValues[option] && len(rest) > 1:
			rest = rest[1:]
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return base
	}
	return withSubcommand(program(rest[0]), rest[1:])
}

func javaName(rest args) string {
	if jar, ok := rest.value("-jar"); ok {
		return program(jar)
	}
	class := rest.firstWord(set("-cp -classpath --class-path -p --module-path"))
	if class == "" {
		return "java"
	}
	return class[strings.LastIndexByte(class, '.')+1:]
}

// containerName is for programs like docker: what exec or run runs, else the container, service or image.
func containerName(base string, rest args, depth int) string {
	rest = rest.skip(containerValues)
	if len(rest) > 0 && (rest[0] == "compose" || rest[0] == "container") {
		rest = rest[1:].skip(containerValues)
	}
	if len(rest) == 0 {
		return base
	}
	verb := rest[0]
	rest = rest[1:].skip(containerValues)
	if verb != "exec" && verb != "run" || len(rest) == 0 {
		return base + "-" + verb
	}
	if command := rest[1:].skip(containerValues); len(command) > 0 {
		if name := argsName(command, depth+1); name != "" {
			return name
		}
	}
	image, _, _ := strings.Cut(path.Base(rest[0]), "@")
	image, _, _ = strings.Cut(image, ":")
	return image
}

// runnerName is for programs with a subcommand that runs another one.
func runnerName(base string, rest args, depth int) string {
	rest = rest.skip(nil)
	if runners[base] != "" {
		rest = rest[1:]
	}
	switch base {
	case "cronitor":
		rest = rest.skip(nil)
		if len(rest) == 2 { // the key and a whole command line
			return lineName(rest[1], depth+1)
		}
		rest = rest[min(1, len(rest)):]
	case "aws-vault":
		rest = rest[min(1, len(rest)):].skip(nil)
	case "rollcall", "op", "doppler":
		rest = rest.skipTo("--")
	default:
		rest = rest.skip(set("--env --env-file --with -p --project --directory -n --name --extra --group --python"))
	}
	if len(rest) == 0 {
		return base
	}
	return argsName(rest, depth+1)
}

var hostLike = regexp.MustCompile(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:[0-9]+)?(/|$|\?)`)

// urlName returns the host of a URL, never its path and query, which may have a key. A ping to a service that watches jobs is no work.
func urlName(base string, rest args) string {
	for _, loose := range []bool{false, true} {
		for i, word := range rest {
			if !strings.Contains(word, "://") && (!loose || i > 0 && rest[i-1] == "-o" || !hostLike.MatchString(word)) {
				continue
			}
			if !strings.Contains(word, "://") {
				word = "http://" + word
			}
			if serviceOf(word) != "" {
				return ""
			}
			word, _, _ = strings.Cut(word, "?")
			if u, err := url.Parse(strings.TrimLeft(word, "-")); err == nil && u.Hostname() != "" {
				return u.Hostname()
			}
		}
	}
	return base
}

// maxName bounds a slug.
const maxName = 60

// slugify returns a text in lower case letters, digits and hyphens.
func slugify(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(text) {
		switch {
		case unicode.Is(unicode.Mn, r):
			continue
		case r < 0x80 && isAlnum(byte(r)):
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(unicode.ToLower(r))
		default:
			gap = true
		}
	}
	return b.String()
}

// cut shortens a slug.
func cut(slug string, length int) string {
	return strings.TrimRight(slug[:min(len(slug), length)], "-")
}
