package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	console.Table(&b, []string{"NAME", "ID", ""}, []string{"Jūrmala", "1"}, []string{"a\x1b[2J\tb\u202e", "22", "note"})
	want := "NAME                     ID\n" +
		"Jūrmala                  1\n" +
		"a\\u001b[2J\\u0009b\\u202e  22  note\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFailPrintsOneLine(t *testing.T) {
	var b strings.Builder
	status := console.Fail(&b, errors.New("first\n\tsecond\x1b[31m"))
	if diff := cmp.Diff("rollcall: first second\\u001b[31m\n", b.String()); diff != "" || status != console.ExitError {
		t.Errorf("status %d (-want +got):\n%s", status, diff)
	}
}

func TestShellQuote(t *testing.T) {
	words := []string{"curl", "http://h/x", "", "it's", `a"b$c\d`, "a b", "&", "ā"}
	var quoted []string
	for _, word := range words {
		quoted = append(quoted, console.ShellQuote(word))
	}
	got, err := splitShell(strings.Join(quoted, " "))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(words, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
