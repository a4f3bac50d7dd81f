package main

import (
	"context"
	"fmt"
	"io"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

type migrateCmd struct{ jsonFlag }

func (migrateCmd) Help() string {
	return `serve and the administration commands migrate the database themselves. Use migrate to choose the time of an upgrade, before
you upgrade the servers. If several run at once, only one migrates. If the database belongs to a newer version of rollcall,
the command fails and changes nothing.

With --json: {"from", "to"}, the versions of the schema before and after, where 0 is an empty database.`
}

func (c migrateCmd) Run(ctx context.Context, a *app) error {
	d, err := parseDatabase(a.database)
	if err != nil {
		return err
	}
	return d.withStore(ctx, true, func(store *sqlstore.Store) error {
		from, to := store.Migrated()
		document := struct {
			From int `json:"from"`
			To   int `json:"to"`
		}{from, to}
		return c.print(a.stdout, document, func(w io.Writer) {
			if from == to {
				fmt.Fprintf(w, "The schema is up to date: version %d.\n", to)
			} else {
				fmt.Fprintf(w, "Migrated the schema from version %d to version %d.\n", from, to)
			}
		})
	})
}
