package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

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
func comment(text string) string {
	var b strings.Builder
	width := 0
	for word := range strings.FieldsSeq(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case width == 0:
			b.WriteString("# ")
			width = 2
		case width+1+length > 80:
			b.WriteString("\n# ")
			width = 2
		default:
			b.WriteString(" ")
			width++
		}
		b.WriteString(word)
		width += length
	}
	b.WriteString("\n")
	return b.String()
}
