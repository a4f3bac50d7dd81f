package main

import (
	"context"
	"fmt"
	"io"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

type migrateCmd struct{ jsonFlag }

func (migrateCmd) Help() string {
	return `serve, and every other command that uses the database, migrates it first. Use migrate to upgrade the database at a time
of your choice, before the servers. If several run at once, one of them does the work. A database of a newer version of
rollcall is an error, and stays as it is.

With --json: {"from", "to"}, the versions of the schema before and after, where 0 is an empty database.`
}

func (c migrateCmd) Run(ctx context.Context, a *app) error {
	d, err := parseDatabase(a.database)
	if err != nil {
		return err
	}
	return d.withStore(ctx, true, func(store *sqlstore.Store) error {
		from, to, err := store.MigrateFrom(ctx)
		if err != nil {
			return err
		}
		document := struct {
			From int `json:"from"`
			To   int `json:"to"`
		}{from, to}
		return c.print(a.stdout, document, func(w io.Writer) {
			if from == to {
				fmt.Fprintf(w, "The schema is up to date: version %d.\n", to)
			} else {
				fmt.Fprintf(w, "The schema was brought from version %d to version %d.\n", from, to)
			}
		})
	})
}
