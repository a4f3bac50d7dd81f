package main

import (
	"context"
	"fmt"
	"io"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

type migrateCmd struct{ jsonFlag }

func (migrateCmd) Help() string {
	return `Every command that uses the database does this first, and so does serve, so there is seldom a need for it: run it to
upgrade the database at a time of your choice, before the servers. Several may run at once, one of them does the
work. A database that belongs to a newer version of rollcall is left alone.

With --json: {"from", "to"}, the versions of the schema before and after; 0 is an empty database.`
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
