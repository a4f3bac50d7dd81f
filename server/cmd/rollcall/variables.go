package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// isRun reports whether a command is rollcall run.
func isRun(command *kong.Context) bool {
	return command != nil && command.Selected() != nil && command.Selected().Path() == "run"
}

// parseAnyhow parses the command line of rollcall run, and ignores the variables with which that fails: a wrong line in a
// shared crontab must not stop its jobs. The notes name these variables.
func (l *commandLine) parseAnyhow() (c *cli, command *kong.Context, notes []string, err error) {
	variables := takeVariables()
	if c, command, notes, err = l.parseKnown(); err != nil {
		return c, command, nil, err // the command line itself is wrong
	}
	file := c.Run.Settings
	for _, v := range variables {
		if v.name == settingsVariable && file == "" {
			file = v.value
		}
	}
	if file != "" {
		var faults []string
		l.settings, faults = readSettings(file)
		notes = append(notes, faults...)
		variables = overrule(variables, l.settings)
	}
	order := make(map[string]int)
	for i, flag := range command.Flags() { // what selects the check comes before what depends on it
		order[variableOf(flag)] = i - len(command.Flags())
	}
	slices.SortStableFunc(variables, func(a, b variable) int {
		return cmp.Compare(order[strings.TrimSuffix(a.name, fileSuffix)], order[strings.TrimSuffix(b.name, fileSuffix)])
	})
	for _, v := range variables {
		note, err := l.try(v)
		if err != nil {
			os.Unsetenv(v.name)
			note = v.name + " is ignored: " + ownPrefix.ReplaceAllString(fromVariable.ReplaceAllString(err.Error(), ""), "")
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	c, command, err = l.parse()
	return c, command, notes, err
}

// parseKnown parses the command line of rollcall run without the flags in front of -- that it does not know: the line of a newer
// rollcall must not stop a job on a machine with an older one. The notes name them.
func (l *commandLine) parseKnown() (c *cli, command *kong.Context, notes []string, err error) {
	for {
		c, command, err = l.parse()
		if err == nil || !isRun(command) {
			return c, command, notes, err
		}
		found, end := unknownFlag.FindStringSubmatch(err.Error()), slices.Index(l.args, "--")
		if found == nil || end < 0 {
			return c, command, notes, err
		}
		at := slices.IndexFunc(l.args[:end], func(arg string) bool {
			name, _, _ := strings.Cut(arg, "=")
			return name == found[1] || strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, found[1][1:])
		})
		if at < 0 {
			return c, command, notes, err
		}
		next := at + 1
		if next < end && !strings.HasPrefix(l.args[next], "-") {
			next++ // its value
		}
		l.args = slices.Delete(slices.Clone(l.args), at, next)
		notes = append(notes, strings.TrimPrefix(err.Error(), "run: ")+" is ignored")
	}
}

// variable is a variable of the environment.
type variable struct{ name, value string }

// takeVariables unsets all variables of Rollcall and returns them, sorted by name.
func takeVariables() []variable {
	var list []variable
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, console.EnvPrefix) {
			list = append(list, variable{name, value})
			os.Unsetenv(name)
		}
	}
	slices.SortFunc(list, func(a, b variable) int { return strings.Compare(a.name, b.name) })
	return list
}

// variableOf returns the variable of a flag, or "".
func variableOf(flag *kong.Flag) string {
	if len(flag.Envs) == 0 {
		return ""
	}
	return flag.Envs[0]
}

// try sets a variable and parses the command line with it. If only blanks around its value, or around the secret in its
// file, are wrong, try sets it without them and returns a note.
func (l commandLine) try(v variable) (note string, err error) {
	parse := func(name, value string) error {
		os.Setenv(name, value)
		_, _, err := l.parse()
		return err
	}
	if err = parse(v.name, v.value); err == nil {
		return "", nil
	}
	name, value, where := v.name, v.value, "value"
	if flag, ok := strings.CutSuffix(v.name, fileSuffix); ok {
		content, readErr := console.ReadFile(v.value)
		if _, both := os.LookupEnv(flag); both || readErr != nil {
			return "", err
		}
		os.Unsetenv(v.name)
		name, value, where = flag, string(content), "secret"
	}
	trimmed := strings.TrimFunc(value, blank)
	if trimmed == value || trimmed == "" {
		return "", err
	}
	if parse(name, trimmed) != nil {
		os.Unsetenv(name)
		return "", err
	}
	return fmt.Sprintf("%s: the blanks or the byte order mark around the %s are ignored", v.name, where), nil
}

var (
	// fromVariable matches what kong adds to the error of a variable: its value, which may be a secret.
	fromVariable = regexp.MustCompile(` \(from envar (\w+)=.*\)$`)
	// ownPrefix matches the beginning of an error that names the command, or the flag and the variable of a file.
	ownPrefix = regexp.MustCompile(`^(run: |--[a-z0-9-]+: ROLLCALL_\w+: )`)
	// unknownFlag matches the error of kong for a flag that does not exist.
	unknownFlag = regexp.MustCompile(`^(?:run: )?unknown flag (--?[^\s,]+)`)
	// flagOf matches the flag that an error of a command line is about.
	flagOf = regexp.MustCompile(`^(?:[a-z -]+: )?--([a-z0-9-]+)`)
	// negative matches the error of kong for a negative number, which looks like a flag.
	negative = regexp.MustCompile(`expected \w+ value but got "(-\d[^"]*)" \(short flag\).*$`)
)

// nameVariable returns an error of parse without the value of a variable, and with the name of the variable that is to blame.
func nameVariable(command *kong.Context, err error) error {
	text := negative.ReplaceAllString(err.Error(), "must not be negative: $1")
	if found := fromVariable.FindStringSubmatch(text); found != nil {
		return errors.New(strings.TrimSuffix(text, found[0]) + " (from " + found[1] + ")")
	}
	found := flagOf.FindStringSubmatch(text)
	if found == nil || command == nil {
		return errors.New(text)
	}
	for _, flag := range command.Flags() {
		typed := slices.ContainsFunc(command.Path, func(p *kong.Path) bool { return p.Flag == flag && !p.Resolved })
		if name := variableOf(flag); flag.Name == found[1] && !typed && name != "" && !strings.Contains(text, name) {
			for _, name := range []string{name, name + fileSuffix} {
				if _, set := os.LookupEnv(name); set {
					return errors.New(text + " (from " + name + ")")
				}
			}
		}
	}
	return errors.New(text)
}

// linkOf matches the variables that Kubernetes and Docker set for a service named rollcall, such as ROLLCALL_SERVICE_HOST.
var linkOf = regexp.MustCompile(`_SERVICE_HOST=|_SERVICE_PORT(_\w+)?=\d+$|_PORT(_\d+_[A-Z]+)?=[a-z]+://|_PORT_\d+_(TCP|UDP|SCTP)_(ADDR|PORT|PROTO)=`)

// unknownVariables returns a note for each variable that begins with ROLLCALL_ and that nothing reads.
func unknownVariables(known, environ []string) (notes []string) {
	known = append(known, console.EnvPrefix+"RUN_ID")
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case !strings.HasPrefix(name, console.EnvPrefix), value == "", slices.Contains(known, name):
		case strings.HasPrefix(name, console.EnvPrefix+"TEST_"), linkOf.MatchString(entry):
		case slices.Contains(known, strings.TrimSuffix(name, fileSuffix)):
			notes = append(notes, name+" is unknown: only secrets can come from a file; set "+strings.TrimSuffix(name, fileSuffix))
		default:
			note := name + " is unknown"
			if similar := prose.Similar(name, slices.Values(known)); similar != "" {
				note += ", did you mean " + similar + "?"
			}
			notes = append(notes, note)
		}
	}
	return notes
}
