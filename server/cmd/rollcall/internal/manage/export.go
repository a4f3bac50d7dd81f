package manage

import (
	"bytes"
	"context"
	"fmt"

	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

type exportCmd struct {
	Project string `placeholder:"NAME" help:"Print only this project (default: all). With --url and a read-write key, the name to print for the key's project."`
	placeFlags
}

func (exportCmd) Help() string {
	return `Applying the output to the same database changes nothing. It leaves out UUIDs, keys, pings, states, and the settings
that rollcall channel kinds marks as secret. For a value that apply read from a variable or a file, it prints {env:
NAME} or {file: PATH}. It also leaves out checks without a unique slug and channels without a unique name; comments and
standard error list them.

Example:

    rollcall export > checks.yaml`
}

func (c *exportCmd) Run(ctx context.Context, a *App) error {
	var doc declare.Document
	err := c.in(ctx, a, false, func(at place) error {
		target := at.target()
		names := []string{c.Project}
		if c.Project == "" && at.named() {
			list, err := at.List(ctx)
			if err != nil {
				return err
			}
			names = nil
			for _, p := range list {
				names = append(names, p.Name)
			}
		}
		for _, name := range names {
			state, err := target.Read(ctx, name)
			if err != nil {
				return console.Missing(err, "project %q", name)
			}
			doc.Projects = append(doc.Projects, declare.Export(state))
		}
		return nil
	})
	if err != nil {
		return err
	}
	var text bytes.Buffer // so that an error prints nothing
	if err := doc.Write(&text); err != nil {
		return err
	}
	for _, p := range doc.Projects {
		for _, remark := range p.Remarks() {
			fmt.Fprintln(a.Stderr, "rollcall:", console.OneLine(remark))
		}
	}
	if _, err := a.Stdout.Write(text.Bytes()); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}
