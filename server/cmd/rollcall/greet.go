package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/manage"
)

// greet creates the first project of an empty database and prints its keys with commands for a first check. If several
// servers start at once, only one of them greets.
func (c *serveCmd) greet(ctx context.Context, s *service, stdout io.Writer) error {
	project, keys, err := s.mon.Projects().Create(ctx, checks.ProjectSpec{Name: manage.DefaultProject, First: true})
	if errors.Is(err, checks.ErrExists) {
		return nil // there are projects already
	}
	if err != nil {
		return err
	}
	out := bufio.NewWriter(stdout)
	c.printGreeting(out, project, keys)
	if s.pages != nil {
		switch link, err := s.people.First(ctx); {
		case errors.Is(err, checks.ErrExists): // rollcall user create was first
		case err != nil:
			return err
		default:
			fmt.Fprintf(out, "Or open the dashboard with this link. It creates the first account, works once and expires in three days:\n\n  %s/signin/%s\n\n", c.BaseURL, link.Token)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("created the project %q, but could not print its keys (rollcall key create makes new ones): %w", project.Name, err)
	}
	return nil
}

func (c *serveCmd) printGreeting(w io.Writer, project checks.Project, keys checks.ProjectKeys) {
	checksURL := string(c.BaseURL) + "/api/v3/checks/"
	authorization := "X-Api-Key: " + keys.ReadWrite
	manage.NewCreatedDoc(project, keys).Write(w)
	fmt.Fprint(w, "\nCreate a check that expects a ping every minute, with a minute of grace:\n\n")
	printCommand(w, "curl", "-sS", checksURL, "-H", authorization, "-H", "Content-Type: application/json",
		"-d", `{"name": "My first check", "slug": "first", "timeout": 60, "grace": 60}`)
	fmt.Fprint(w, "\nPing it, here by its slug:\n\n")
	printCommand(w, "curl", "-sSL", string(c.PingBaseURL)+"/"+project.PingKey+"/first")
	fmt.Fprint(w, "\nSee its status, which becomes grace and then down when the pings stop:\n\n")
	printCommand(w, "curl", "-sS", checksURL, "-H", authorization)
	fmt.Fprintln(w)
}

// printCommand writes a command to paste into a shell.
func printCommand(w io.Writer, words ...string) {
	fmt.Fprintf(w, "  %s\n", console.ShellCommand(words...))
}
