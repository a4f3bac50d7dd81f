package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

var update = flag.Bool("update", false, "write the table of commands into server/COMMANDS.md")

// TestDocumentReference compares server/COMMANDS.md with the commands: each is there with what it does and all its flags.
func TestDocumentReference(t *testing.T) {
	var c cli
	parser, err := kong.New(&c, options(io.Discard, io.Discard, console.ExitOK)...)
	if err != nil {
		t.Fatal(err)
	}
	common := map[string]bool{"help": true, "json": true, "api-key": true}
	for _, f := range parser.Model.Flags {
		common[f.Name] = true
	}
	var table strings.Builder
	table.WriteString("| command | what it does | flags |\n|---|---|---|\n")
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		for _, child := range n.Children {
			visit(child)
		}
		if n.Type != kong.CommandNode || n.Hidden || len(n.Children) > 0 {
			return
		}
		remote := ""
		if slices.ContainsFunc(slices.Concat(n.AllFlags(true)...), isRemote) {
			remote = dagger
		}
		fmt.Fprintf(&table, "| `%s`%s | %s | %s |\n", usage(n), remote, strings.ReplaceAll(n.Help, "|", "\\|"), flagsOf(n, common))
	}
	visit(parser.Model.Node)

	path := filepath.Join(root, "server", "COMMANDS.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, listed, found := strings.Cut(string(text), "| command | what it does | flags |\n")
	if listed = "| command | what it does | flags |\n" + listed; !found {
		t.Fatal("server/COMMANDS.md has no table")
	}
	if *update {
		if err := os.WriteFile(path, []byte(head+table.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if listed != table.String() {
		t.Error("server/COMMANDS.md is not current; go test ./server/cmd/rollcall -run TestDocumentReference -update")
	}
}

// dagger follows the commands that also work through the API of a server.
const dagger = "†"

// isRemote reports whether a flag is that of such a command.
func isRemote(f *kong.Flag) bool { return f.Name == "url" && !f.Hidden && !f.Required }

// isProject reports whether a flag names the project that a command works on, as the head of the page says.
func isProject(f *kong.Flag) bool { return f.Name == "project" && f.Default == "default" }

// usage returns a command with its arguments, such as check show CHECK.
func usage(n *kong.Node) string {
	words := []string{strings.TrimPrefix(n.FullPath(), "rollcall ")}
	for _, p := range n.Positional {
		words = append(words, strings.ToUpper(strings.Trim(p.Summary(), "<>[] .")))
	}
	return strings.ReplaceAll(strings.Join(words, " "), "|", "\\|")
}

// flagsOf returns the flags of a command without those that every command has. Those of serve have a page.
func flagsOf(n *kong.Node, common map[string]bool) string {
	if n.Name == "serve" {
		return "see [CONFIGURE](CONFIGURE.md#which-flags-are-there)"
	}
	var names []string
	for _, flags := range n.AllFlags(true) {
		for _, f := range flags {
			name := "`--" + f.Name + "`"
			for _, group := range []string{"mail", "twilio"} {
				if strings.HasPrefix(f.Name, group+"-") {
					name = "`--" + group + "-…`"
				}
			}
			if !f.Hidden && !common[f.Name] && !isRemote(f) && !isProject(f) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, " ")
}
