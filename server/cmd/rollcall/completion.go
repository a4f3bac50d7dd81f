package main

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/channels/standard"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

func (completionCmd) Help() string {
	return `The Debian and RPM packages install the completion of all three shells. Without a package, run one of these commands,
and again after an upgrade. Then start a new shell.

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

func (c *completionCmd) Run(a *app, command *kong.Context) error {
	return writeCompletion(a.stdout, c.Shell, command.Model)
}

// completionFiles holds a template for each shell.
//
//go:embed completions
var completionFiles embed.FS

// writeCompletion writes the completion script of a shell: bash, zsh or fish. The script does not call rollcall.
func writeCompletion(w io.Writer, shell string, model *kong.Application) error {
	functions := template.FuncMap{
		"join":        func(words []string) string { return strings.Join(words, " ") },
		"valued":      valuedFlags,
		"quote":       quoteShell,
		"quoteFish":   quoteFish,
		"function":    func(path string) string { return "_" + strings.NewReplacer(" ", "_", "-", "_").Replace(path) },
		"bashValue":   bashValue,
		"zshFlag":     zshFlag,
		"zshArgument": zshArgument,
		"fishValue":   fishValue,
	}
	parsed, err := template.New("").Funcs(functions).ParseFS(completionFiles, "completions/*.tmpl")
	if err != nil {
		return err
	}
	if err := parsed.ExecuteTemplate(w, shell+".tmpl", completionCommands(model.Node)); err != nil {
		return fmt.Errorf("completion of %s: %w", shell, err)
	}
	return nil
}

// completionCommand is a command as a completion script knows it.
type completionCommand struct {
	Path     string // such as "rollcall project create"
	Name     string
	Help     string
	Commands []completionCommand // without their own commands and flags
	Flags    []completionFlag    // also those of the commands around it
	Args     []completionValue
	Wraps    bool // the rest of the command line is another command
}

// Valued returns the flags that take a value, as they are written.
func (c completionCommand) Valued() []string {
	var names []string
	for _, flag := range c.Flags {
		if flag.Value != nil {
			names = append(names, flag.Names()...)
		}
	}
	return names
}

// valuedFlags returns the flags that take a value, of all commands. No flag takes one for some commands only.
func valuedFlags(commands []completionCommand) []string {
	var names []string
	for _, c := range commands {
		names = append(names, c.Valued()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

type completionFlag struct {
	Name    string
	Short   string // "" for none
	Help    string
	Repeats bool
	Value   *completionValue // nil for a switch
}

// Names returns the flag as it is written, in its long form first.
func (f completionFlag) Names() []string {
	if f.Short == "" {
		return []string{"--" + f.Name}
	}
	return []string{"--" + f.Name, "-" + f.Short}
}

// completionValue is the value of a flag, or an argument.
type completionValue struct {
	Label   string // a placeholder
	Files   bool
	Dirs    bool
	Words   []string // the possible values, nil if any text is
	Repeats bool
}

// completionCommands returns a command and all commands below it. Hidden ones are left out.
func completionCommands(node *kong.Node) []completionCommand {
	c := completionCommand{Path: node.FullPath(), Name: node.Name, Help: summary(node.Help)}
	own := []*kong.Node{node}
	if node.DefaultCmd != nil {
		own = append(own, node.DefaultCmd)
	}
	for _, n := range own {
		for _, flag := range visibleFlags(n) {
			c.Flags = append(c.Flags, completionFlagOf(flag))
		}
		for _, arg := range n.Positional {
			c.Wraps = c.Wraps || arg.PassthroughMode != kong.PassThroughModeNone
			c.Args = append(c.Args, *completionValueOf(arg, arg.Name))
		}
	}
	for parent := node.Parent; parent != nil; parent = parent.Parent {
		for _, flag := range visibleFlags(parent) {
			c.Flags = append(c.Flags, completionFlagOf(flag))
		}
	}
	var below []completionCommand
	for _, child := range visibleCommands(node) {
		all := completionCommands(child)
		c.Commands = append(c.Commands, completionCommand{Path: all[0].Path, Name: all[0].Name, Help: all[0].Help})
		below = append(below, all...)
	}
	return append([]completionCommand{c}, below...)
}

func completionFlagOf(flag *kong.Flag) completionFlag {
	f := completionFlag{Name: flag.Name, Help: summary(flag.Help), Repeats: flag.IsSlice()}
	if flag.Short != 0 {
		f.Short = string(flag.Short)
	}
	if !flag.IsBool() {
		f.Value = completionValueOf(flag.Value, flag.PlaceHolder)
	}
	return f
}

// completionValueOf reads the tags enum and completion of a flag or an argument. completion is file, directory, kind
// (of integrations), or words separated by commas.
func completionValueOf(v *kong.Value, label string) *completionValue {
	value := &completionValue{Label: label, Repeats: v.IsSlice()}
	switch what := v.Tag.Get("completion"); {
	case v.Enum != "":
		value.Words = slices.DeleteFunc(v.EnumSlice(), func(word string) bool { return word == "" })
	case what == "file":
		value.Files = true
	case what == "directory":
		value.Dirs = true
	case what == "kind":
		for _, kind := range standard.Kinds() {
			value.Words = append(value.Words, string(kind.Kind))
		}
	case what != "":
		value.Words = strings.Split(what, ",")
	}
	return value
}

// summary returns the first sentence of a help text, without its period.
func summary(help string) string {
	first, _, _ := strings.Cut(help, ". ")
	return strings.TrimSuffix(first, ".")
}
