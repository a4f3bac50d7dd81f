package main

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/manage"
)

// completionCmd prints the completion of a shell. It is ours, because kong-completion completes neither the command line that
// rollcall run wraps nor the flags of a default command.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

func (completionCmd) Help() string {
	return `The Debian and RPM packages install the completion of all three shells. Without a package, run one of these commands and
start a new shell.

For bash, with the package bash-completion:

    mkdir -p ~/.local/share/bash-completion/completions
    rollcall completion bash > ~/.local/share/bash-completion/completions/rollcall

For bash without that package, add this line to ~/.bashrc:

    source <(rollcall completion bash)

For zsh, into a directory of $fpath; ~/.zshrc must set fpath before it runs compinit:

    mkdir -p ~/.zfunc
    rollcall completion zsh > ~/.zfunc/_rollcall
    # in ~/.zshrc:  fpath=(~/.zfunc $fpath); autoload -U compinit; compinit

For fish:

    mkdir -p ~/.config/fish/completions
    rollcall completion fish > ~/.config/fish/completions/rollcall.fish`
}

func (c *completionCmd) Run(a *app) error { return writeCompletion(a.stdout, c.Shell) }

// completionFiles holds the script of each shell. They ask the program by its command __complete.
//
//go:embed completions/*
var completionFiles embed.FS

// completionNames are the names of the scripts, by shell, as the shells look for them.
var completionNames = map[string]string{"bash": "rollcall.bash", "zsh": "_rollcall", "fish": "rollcall.fish"}

// writeCompletion writes the completion script of a shell: bash, zsh or fish.
func writeCompletion(w io.Writer, shell string) error {
	script, err := completionFiles.ReadFile("completions/" + completionNames[shell])
	if err != nil {
		return err
	}
	_, err = w.Write(script)
	return err
}

// completeCommand is the command with which the scripts ask for completions. It is not part of the command line, so that no
// word after it is parsed.
const completeCommand = "__complete"

// complete prints the completions of the last word of a command line and returns the exit status.
func complete(words []string, stdout, stderr io.Writer) int {
	parser, err := kong.New(newCLI(), options(stdout, stderr, console.ExitOK)...)
	if err != nil {
		return console.Fail(stderr, err)
	}
	for _, line := range completions(parser.Model.Node, words, namesHere) {
		fmt.Fprintln(stdout, line)
	}
	return console.ExitOK
}

// completions returns what may replace the last of the words that follow rollcall: words, each with a tab and a description if it
// has one. The names of checks, integrations and projects are those that names returns. If only the shell knows them, it returns ":file", ":directory", or ":command" with the number of the word at which
// another command line begins, counted from rollcall, which is word 0.
func completions(root *kong.Node, words []string, names namesOf) []string {
	if len(words) == 0 {
		return nil
	}
	line := typedLine{node: root, typed: make(map[string]string)}
	last := len(words) - 1
	for i, word := range words[:last] {
		if line.read(word) {
			return []string{fmt.Sprintf(":command %d", i+1)}
		}
	}
	word := words[last]
	name, _, valued := strings.Cut(word, "=")
	switch {
	case line.flag != nil:
		return line.completeValue(line.flag.Value, "", word, names)
	case !line.ended && strings.HasPrefix(word, "--") && valued:
		if flag := line.find(name); flag != nil && !flag.IsBool() {
			return line.completeValue(flag.Value, name+"=", strings.TrimPrefix(word, name+"="), names)
		}
		return nil
	case !line.ended && strings.HasPrefix(word, "-"):
		return line.flagWords()
	case line.wraps():
		return []string{fmt.Sprintf(":command %d", last+1)}
	case line.node.Leaf() || line.args > 0:
		if arg := line.argument(); arg != nil {
			return line.completeValue(arg, "", word, names)
		}
		return nil
	}
	var list []string
	for _, child := range visibleCommands(line.node) {
		list = append(list, described(child.Name, child.Help))
	}
	return list
}

// typedLine is what stands before the word to complete.
type typedLine struct {
	node  *kong.Node // the command so far
	args  int        // arguments of the command so far
	flag  *kong.Flag // takes the next word as its value, or nil
	ended bool       // by --: no flag follows

	typed map[string]string // the values of flags
}

// read reads a word. It reports whether another command line begins there.
func (l *typedLine) read(word string) (wrapped bool) {
	switch {
	case l.flag != nil:
		l.typed[l.flag.Name] = word
		l.flag = nil
	case !l.ended && word == "--":
		l.ended = true
	case !l.ended && strings.HasPrefix(word, "-"):
		name, value, valued := strings.Cut(word, "=")
		if flag := l.find(name); flag != nil && valued {
			l.typed[flag.Name] = value
		} else if flag != nil && !flag.IsBool() {
			l.flag = flag
		}
	case l.wraps():
		return true
	default:
		if command := findCommand(l.node, word); command != nil && l.args == 0 {
			l.node = command
		} else {
			l.args++
		}
	}
	return false
}

// flags returns the flags that the command takes: its own, those of its default command and those of the commands around it.
func (l *typedLine) flags() (list []*kong.Flag) {
	if l.node.DefaultCmd != nil {
		list = visibleFlags(l.node.DefaultCmd)
	}
	for node := l.node; node != nil; node = node.Parent {
		list = append(list, visibleFlags(node)...)
	}
	return list
}

// find returns the flag that a word is, or nil.
func (l *typedLine) find(word string) *kong.Flag {
	for _, flag := range l.flags() {
		if word == "--"+flag.Name || strings.HasPrefix(word, "--") && slices.Contains(flag.Aliases, word[2:]) || flag.Short != 0 && word == "-"+string(flag.Short) {
			return flag
		}
	}
	return nil
}

func (l *typedLine) flagWords() (list []string) {
	for _, flag := range l.flags() {
		list = append(list, described("--"+flag.Name, flag.Help))
		if flag.Short != 0 {
			list = append(list, described("-"+string(flag.Short), flag.Help))
		}
	}
	return list
}

// wraps reports whether the arguments of the command are another command line.
func (l *typedLine) wraps() bool {
	arg := l.argument()
	return arg != nil && arg.PassthroughMode != kong.PassThroughModeNone
}

// argument returns the next argument of the command, or nil if it takes no more.
func (l *typedLine) argument() *kong.Positional {
	if n := len(l.node.Positional); l.args < n {
		return l.node.Positional[l.args]
	} else if n > 0 && l.node.Positional[n-1].IsCumulative() {
		return l.node.Positional[n-1]
	}
	return nil
}

// namesOf returns the names of things that only a database or a server knows: "check", "channel" or "project". typed are the flags
// of the command line.
type namesOf func(what string, typed map[string]string) []string

// namesHere asks the database or the server that the flags or the variables select.
func namesHere(what string, typed map[string]string) []string {
	value := func(flag string) string {
		if value := typed[flag]; value != "" {
			return value
		}
		name := console.EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
		if value := os.Getenv(name); value != "" {
			return value
		}
		if path := os.Getenv(name + fileSuffix); path != "" {
			secret, _ := console.ReadSecret(path)
			return secret
		}
		return ""
	}
	var url console.Address
	if text := value("url"); text != "" && url.UnmarshalText([]byte(text)) != nil {
		return nil
	}
	database := value("database")
	a := manage.App{Database: cmp.Or(database, defaultDatabase), Chosen: database != "", Stdout: io.Discard, Stderr: io.Discard}
	return a.Words(context.Background(), what, cmp.Or(value("project"), manage.DefaultProject), url, value("api-key"))
}

// completeValue returns the values of a flag or an argument after a prefix, by the tags enum and completion. completion is
// file, directory, kind (of integrations), zone, check, channel or project, or words separated by commas. With s at its end, the value
// is a list with commas, whose last item is completed.
func (l *typedLine) completeValue(v *kong.Value, prefix, text string, names namesOf) []string {
	var words []string
	what := v.Tag.Get("completion")
	if what == "checks" || what == "channels" {
		what = strings.TrimSuffix(what, "s")
		before := text[:strings.LastIndexByte(text, ',')+1]
		prefix += before
		given := strings.Split(before, ",")
		all := names
		names = func(what string, typed map[string]string) []string {
			return slices.DeleteFunc(all(what, typed), func(line string) bool {
				name, _, _ := strings.Cut(line, "\t")
				return slices.Contains(given, name)
			})
		}
	}
	switch {
	case v.Enum != "":
		words = slices.DeleteFunc(v.EnumSlice(), func(word string) bool { return word == "" })
	case what == "file", what == "directory":
		return []string{":" + what}
	case what == "kind":
		for _, kind := range standard.Kinds() {
			words = append(words, string(kind.Kind))
		}
	case what == "zone":
		words = schedule.Zones()
	case what == "check", what == "channel", what == "project":
		words = names(what, l.typed)
	case what != "":
		words = strings.Split(what, ",")
	}
	for i := range words {
		words[i] = prefix + words[i]
	}
	return words
}

// described returns a word with a tab and its description: the first sentence of a help text.
func described(word, help string) string { return word + "\t" + summary(help) }

// summary returns the first sentence of a help text, without its period.
func summary(help string) string {
	first, _, _ := strings.Cut(help, ". ")
	return strings.TrimSuffix(first, ".")
}
