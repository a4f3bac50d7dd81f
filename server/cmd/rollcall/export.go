package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

type exportCmd struct {
	Project string `placeholder:"NAME" help:"Print only this project. All by default; with --url, the name to give to the project of the key."`
	remoteFlags
}

func (exportCmd) Help() string {
	return `Prints projects, channels and checks in the form that rollcall apply reads. Applying the output to the same database
changes nothing. It leaves out UUIDs, keys, pings, states, and the settings of channels that rollcall channel kinds calls
secret. A value that apply read from a variable or a file is not printed either: {env: NAME} or {file: PATH} is. Checks
without a slug of their own and channels without a name of their own cannot be in a file; comments and standard error
list them.

Example:

    rollcall export > checks.yaml`
}

func (c *exportCmd) Run(ctx context.Context, a *app) error {
	var doc declare.Document
	err := c.withTarget(ctx, a, false, func(target declare.Target, mon *monitor.Monitor) error {
		names := []string{c.Project}
		if c.Project == "" && mon != nil {
			projects, err := mon.Projects(ctx)
			if err != nil {
				return err
			}
			names = nil
			for _, p := range projects {
				names = append(names, p.Name)
			}
		}
		for _, name := range names {
			state, err := target.Read(ctx, name)
			if err != nil {
				return missing(err, "project %q", name)
			}
			doc.Projects = append(doc.Projects, declare.Export(state, channelKinds()))
		}
		return nil
	})
	if err != nil {
		return err
	}
	var text bytes.Buffer // prints all or nothing
	if err := doc.Write(&text); err != nil {
		return err
	}
	for _, p := range doc.Projects {
		for _, remark := range p.Remarks() {
			fmt.Fprintln(a.stderr, "rollcall:", oneLine(remark))
		}
	}
	if _, err := a.stdout.Write(text.Bytes()); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}
