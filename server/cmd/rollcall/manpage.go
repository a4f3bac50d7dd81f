package main

import (
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// manPage is a page of section 1.
type manPage struct {
	name string // such as rollcall-serve
	roff
}

// manPages returns rollcall(1), and a page for each command directly below rollcall, which also has the commands below
// that. The pages bear the date of the commit.
func manPages(model *kong.Application, info *debug.BuildInfo) []*manPage {
	pages := []*manPage{newPage("rollcall", info)}
	pages[0].overview(model)
	for _, command := range visibleCommands(model.Node) {
		page := newPage("rollcall-"+command.Name, info)
		page.command(model, command)
		pages = append(pages, page)
	}
	return pages
}

func newPage(name string, info *debug.BuildInfo) *manPage {
	p := &manPage{name: name}
	date := ""
	if committed := console.CommitTime(info); !committed.IsZero() {
		date = committed.Format(time.DateOnly)
	}
	p.macro("TH", strings.ToUpper(escapeRoff(name)), "1", date, "rollcall "+escapeRoff(console.VersionNumber(info)), "Rollcall")
	p.WriteString(".nr HY 0\n.nh\n.ad l\n") // break no variable by a hyphen, and stretch no line around an address
	return p
}

// overview writes rollcall(1).
func (p *manPage) overview(model *kong.Application) {
	p.heading("SH", "NAME")
	p.WriteString("rollcall \\- dead man's switch for scheduled jobs\n")
	p.heading("SH", "SYNOPSIS")
	p.WriteString(bold("rollcall") + " " + italic("command") + " [" + italic("options") + "] [" + italic("arguments") + "]\n")
	p.heading("SH", "DESCRIPTION")
	p.detail(model.Help + "\n\n" + overviewText)
	p.heading("SH", "COMMANDS")
	group := ""
	for _, command := range visibleCommands(model.Node) {
		if title := strings.TrimSuffix(groupTitle(command), ":"); title != group {
			group = title
			p.heading("SS", title)
		}
		p.tagged(pageReference("rollcall-"+command.Name), command.Help)
		var names []string
		for _, child := range visibleCommands(command) {
			names = append(names, bold(child.Name))
		}
		if names != nil {
			p.WriteString("Commands:\n" + strings.Join(names, ",\n") + ".\n")
		}
	}
	p.heading("SH", "OPTIONS")
	p.flags(visibleFlags(model.Node), nil)
	p.heading("SH", "ENVIRONMENT")
	p.detail(environmentText)
	p.exitStatus("rollcall")
	p.heading("SH", "EXAMPLES")
	p.detail(overviewExamples)
	p.heading("SH", "SEE ALSO")
	p.WriteString(pageReference("rollcall-serve") + ",\n" + pageReference("rollcall-run") + ",\n")
	p.WriteString("\\fBcrontab\\fR(5),\n\\fBsystemd.timer\\fR(5)\n")
	p.paragraph("The manuals are at https://github.com/rollcall-dev/rollcall.")
}

// command writes the page of a command.
func (p *manPage) command(model *kong.Application, command *kong.Node) {
	p.heading("SH", "NAME")
	p.WriteString(escapeRoff(p.name) + " \\-\n")
	p.text(summary(command.Help))
	p.heading("SH", "SYNOPSIS")
	leaves := leavesOf(command)
	for i, leaf := range leaves {
		if i > 0 {
			p.WriteString(".br\n")
		}
		p.WriteString(synopsis(leaf) + "\n")
	}
	p.heading("SH", "DESCRIPTION")
	p.paragraph(command.Help)
	examples := ""
	if command.Leaf() {
		examples = p.alone(command)
	} else {
		p.heading("SH", "COMMANDS")
		for _, leaf := range leaves {
			p.oneOfSeveral(leaf)
		}
		p.heading("SH", "OPTIONS")
	}
	p.flags(visibleFlags(model.Node), nil)
	p.exitStatus(command.Name)
	if command.Name == "serve" {
		p.heading("SH", "FILES")
		for _, file := range packagedFiles {
			p.tagged(italic(file[0]), file[1])
		}
	}
	if examples != "" {
		p.heading("SH", "EXAMPLES")
		p.detail(examples)
	}
	p.seeAlso(model, command)
}

// alone writes the description and the options of a command with a page for itself, and returns its examples.
func (p *manPage) alone(command *kong.Node) (examples string) {
	text, examples := splitExamples(command.Detail)
	p.detail(text)
	p.arguments(command)
	p.heading("SH", "OPTIONS")
	if flags := visibleFlags(command); len(flags) > 0 {
		p.flags(flags, func(title string) { p.heading("SS", title) })
		p.heading("SS", "General options")
	}
	return examples
}

// oneOfSeveral writes a command on the page of the command around it.
func (p *manPage) oneOfSeveral(command *kong.Node) {
	p.heading("SS", command.FullPath())
	p.paragraph(command.Help)
	text, examples := splitExamples(command.Detail)
	p.detail(text)
	p.arguments(command)
	p.flags(visibleFlags(command), func(title string) { p.paragraph(title + ":") })
	if examples != "" {
		p.paragraph("Examples:")
		p.detail(examples)
	}
}

// arguments writes the positional arguments of a command.
func (p *manPage) arguments(node *kong.Node) {
	for _, arg := range node.Positional {
		text := arg.Help
		if arg.HasDefault {
			text += " The default is " + arg.Default + "."
		}
		p.tagged(italic(strings.ToUpper(arg.Name)), text)
	}
}

// flags writes flags by their groups. The function writes the title of a group.
func (p *manPage) flags(flags []*kong.Flag, title func(string)) {
	for _, group := range groupFlags(flags) {
		if group.title != "" {
			title(strings.TrimSuffix(group.title, ":"))
		}
		for _, flag := range group.flags {
			p.flag(flag)
		}
	}
}

func (p *manPage) flag(flag *kong.Flag) {
	tag := bold("--" + flag.Name)
	if flag.Short != 0 {
		tag = bold("-"+string(flag.Short)) + ", " + tag
	}
	if !flag.IsBool() {
		tag += "=" + italic(flag.FormatPlaceHolder())
	}
	p.tagged(tag, flag.Help)
	if flag.HasDefault {
		p.WriteString(".br\n")
		p.text("Default: " + flag.Default)
	}
	if len(flag.Envs) == 0 {
		return
	}
	p.WriteString(".br\n")
	text := "Environment: " + flag.Envs[0]
	if isSecret(flag) {
		text += ", or a file named by " + flag.Envs[0] + fileSuffix
	}
	p.text(text)
}

func (p *manPage) exitStatus(command string) {
	statuses := exitStatuses
	if command == "run" {
		statuses = runStatuses
	}
	p.heading("SH", "EXIT STATUS")
	for _, status := range statuses {
		p.tagged(escapeRoff(status[0]), status[1])
	}
}

// seeAlso names rollcall(1) and the pages of the commands in the same group of the help.
func (p *manPage) seeAlso(model *kong.Application, command *kong.Node) {
	p.heading("SH", "SEE ALSO")
	references := []string{pageReference("rollcall")}
	for _, other := range visibleCommands(model.Node) {
		if other != command && groupTitle(other) == groupTitle(command) {
			references = append(references, pageReference("rollcall-"+other.Name))
		}
	}
	p.WriteString(strings.Join(references, ",\n") + "\n")
}

func pageReference(name string) string { return bold(name) + "(1)" }

// groupTitle returns the group of a command in the help, or "".
func groupTitle(node *kong.Node) string {
	if group := node.ClosestGroup(); group != nil {
		return group.Title
	}
	return ""
}

// leavesOf returns the commands at and below a node that do something.
func leavesOf(node *kong.Node) []*kong.Node {
	if node.Leaf() {
		return []*kong.Node{node}
	}
	var leaves []*kong.Node
	for _, child := range visibleCommands(node) {
		leaves = append(leaves, leavesOf(child)...)
	}
	return leaves
}

// synopsis returns the form of a command, with the flags that it requires.
func synopsis(node *kong.Node) string {
	words := []string{bold(node.FullPath())}
	seen := make(map[string]bool) // sets of flags that exclude each other
	for _, flag := range visibleFlags(node) {
		if !flag.Required {
			continue
		}
		forms := []string{bold("--"+flag.Name) + "=" + italic(flag.PlaceHolder)}
		if len(flag.Xor) > 0 {
			if seen[flag.Xor[0]] {
				continue
			}
			seen[flag.Xor[0]] = true
			forms = nil
			for _, other := range visibleFlags(node) {
				if slices.Equal(other.Xor, flag.Xor) {
					forms = append(forms, bold("--"+other.Name)+"="+italic(other.PlaceHolder))
				}
			}
		}
		form := strings.Join(forms, " | ")
		if len(forms) > 1 {
			form = "{" + form + "}"
		}
		words = append(words, form)
	}
	words = append(words, "["+italic("options")+"]")
	for _, arg := range node.Positional {
		word := italic(strings.ToUpper(arg.Name))
		if arg.PassthroughMode != kong.PassThroughModeNone {
			word = bold("--") + " " + word
		}
		if arg.IsCumulative() {
			word += " ..."
		}
		if !arg.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

var examplesTitle = regexp.MustCompile(`(?m)^Examples?:$`)

// splitExamples returns a help text without the examples at its end, and the examples.
func splitExamples(detail string) (text, examples string) {
	at := examplesTitle.FindStringIndex(detail)
	if at == nil {
		return detail, ""
	}
	return strings.TrimSpace(detail[:at[0]]), strings.Trim(detail[at[1]:], "\n")
}
