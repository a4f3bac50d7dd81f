package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
)

// settingsHead begins the file of settings.
const settingsHead = `# Settings of the Rollcall server, for the systemd unit rollcall.service.
#
# Each setting below is commented out and shows its default. To change one,
# remove the # and edit the value, then restart the server:
#
#     systemctl restart rollcall
#
# One setting a line, NAME=VALUE, without spaces around the =. This is no shell:
# $ and % have no meaning, and no "export" precedes the name. Quote a value that
# contains a backslash or begins with a quote: NAME='VALUE'. An empty value
# counts as unset. systemd.exec(5) has the rules, at EnvironmentFile=.
#
# The file may hold secrets: only root and the group rollcall can read it. For a
# secret, you can also name a file with the value, which the user rollcall must
# be able to read.
#
# rollcall-serve(1) describes the settings, as flags of the command.
`

// writeSettings writes the file /etc/rollcall/rollcall.env of the packages: all settings of serve, commented out.
func writeSettings(w io.Writer, model *kong.Application) error {
	out := bufio.NewWriter(w)
	out.WriteString(settingsHead)
	for _, node := range []*kong.Node{model.Node, findCommand(model.Node, "serve")} {
		for _, group := range groupFlags(visibleFlags(node)) {
			if title := strings.TrimSuffix(group.title, ":"); title != "" {
				fmt.Fprintf(out, "\n\n## %s\n", title)
			}
			for _, flag := range group.flags {
				if len(flag.Envs) > 0 {
					writeSetting(out, flag)
				}
			}
		}
	}
	return out.Flush()
}

// writeSetting writes the lines of one setting.
func writeSetting(out *bufio.Writer, flag *kong.Flag) {
	name, value := flag.Envs[0], flag.Default
	switch {
	case flag.Name == "database":
		value = installation.PackagedDatabase
	case flag.IsBool() && value == "":
		value = "false"
	}
	fmt.Fprintf(out, "\n%s#%s=%s\n", comment(flag.Help), name, value)
	if !isSecret(flag) {
		return
	}
	if flag.Name == "database" {
		out.WriteString(comment("Or a file with the URL. The unit sets the variable above, so it must be emptied here."))
		fmt.Fprintf(out, "#%s=\n", name)
	}
	fmt.Fprintf(out, "#%s%s=\n", name, fileSuffix)
}

// comment returns a text as lines of a comment, of at most 80 characters if the words allow it.
func comment(text string) string { return console.Paragraph("# ", "# ", text, 80) }

// settingsVariable names a file of settings, as --settings does.
const settingsVariable = console.EnvPrefix + "SETTINGS"

// networkVariables are the variables that a file of settings may have beside those of flags.
var networkVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// readSettings reads a file like rollcall.env: NAME=VALUE lines, as systemd reads them. It leaves out what is wrong, and the notes
// say so without the values, which may be secrets.
func readSettings(path string) (entries, notes []string) {
	content, err := console.ReadFile(path)
	if err != nil {
		return nil, []string{"--settings is ignored: " + err.Error()}
	}
	if len(content) > maxSettings {
		return nil, []string{fmt.Sprintf("--settings is ignored: %s has more than %d bytes", path, maxSettings)}
	}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(content, console.ByteOrderMark)) {
		number++
		line = strings.TrimFunc(line, blank)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(strings.TrimPrefix(name, "export "))
		if ok {
			value, ok = unquoteSetting(strings.TrimSpace(value))
		}
		switch {
		case !ok || name == "" || strings.ContainsFunc(name, blank) || strings.ContainsRune(value, 0):
			notes = append(notes, fmt.Sprintf("%s: line %d is ignored: write NAME=VALUE", path, number))
		case !strings.HasPrefix(name, console.EnvPrefix) && !slices.Contains(networkVariables, strings.ToUpper(name)):
			notes = append(notes, fmt.Sprintf("%s: line %d is ignored: %s is unknown", path, number, console.Printable(name)))
		case name != settingsVariable && value != "":
			entries = append(entries, name+"="+value)
		}
	}
	return entries, notes
}

// maxSettings bounds a file of settings, in bytes.
const maxSettings = 64 << 10

// unquoteSetting returns a value without its quotes. It reports false if they do not end with the value.
func unquoteSetting(value string) (string, bool) {
	if value == "" || value[0] != '\'' && value[0] != '"' {
		return value, true
	}
	quote := value[0]
	var b strings.Builder
	for i := 1; i < len(value); i++ {
		switch {
		case value[i] == quote:
			return b.String(), i == len(value)-1
		case value[i] == '\\' && quote == '"' && i+1 < len(value) && strings.IndexByte("\"\\$`", value[i+1]) >= 0:
			i++
		}
		b.WriteByte(value[i])
	}
	return "", false
}

// overrule returns the variables with those of a file of settings, which replace the same of the environment, and sets those of the
// network.
func overrule(variables []variable, entries []string) []variable {
	for _, entry := range entries {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, console.EnvPrefix) {
			os.Setenv(name, value)
			continue
		}
		same := strings.TrimSuffix(name, fileSuffix)
		variables = slices.DeleteFunc(variables, func(v variable) bool { return v.name == same || v.name == same+fileSuffix })
		variables = append(variables, variable{name, value})
	}
	return variables
}

// parseWith parses the command line with a file of settings, all of which must be right.
func (l *commandLine) parseWith(file string) (*cli, *kong.Context, error) {
	var faults []string
	if l.settings, faults = readSettings(file); len(faults) > 0 {
		return nil, nil, errors.New(strings.Join(faults, "; "))
	}
	for _, v := range overrule(takeVariables(), l.settings) {
		os.Setenv(v.name, v.value)
	}
	return l.parse()
}
