package manage

import (
	"context"
	"fmt"
	"io"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

type MigrateCmd struct {
	console.JSONFlag
	onlyDatabase

	Distribute bool `help:"Distribute checks and pings over the workers of Citus. The database is on the coordinator."`
}

func (MigrateCmd) Help() string {
	return `serve and the administration commands migrate the database themselves. Use migrate to choose the time of an upgrade, before
you upgrade the servers. If several run at once, only one migrates. If a newer version of rollcall has migrated the
database, the command fails and changes nothing.

Servers may run meanwhile. On PostgreSQL, migrate waits for their transactions only moments at a time, so that they keep
taking pings, and tries again. If somebody else has locked a table, such as pg_dump, it says so and waits.

--distribute is for Citus: it moves the states of checks and the log of pings to the workers, into twice as many shards as
there are workers, or as many as citus.shard_count says if that is set. The other tables stay on the coordinator. It moves
everything in one transaction, for which pings wait; servers that run meanwhile notice afterwards. It cannot be undone. On a distributed database it does nothing.

With --json: {"from", "to"}, the versions of the schema before and after, where 0 is an empty database. With --distribute,
also "distributed": true if tables were moved now.`
}

// distributor is a store, to those who know that it is on Citus.
type distributor interface {
	Distribute(ctx context.Context) (changed bool, err error)
}

func (c MigrateCmd) Run(ctx context.Context, a *App) error {
	d, err := a.database()
	if err != nil {
		return err
	}
	if c.Distribute && d.URL == "" {
		return console.Usagef("--distribute is for Citus, and %s is not PostgreSQL", d)
	}
	return d.WithStore(ctx, true, func(store *sqlstore.Store) error {
		from, to := store.Migrated()
		document := struct {
			From        int   `json:"from"`
			To          int   `json:"to"`
			Distributed *bool `json:"distributed,omitempty"`
		}{From: from, To: to}
		if c.Distribute {
			changed, err := store.Contract().(distributor).Distribute(ctx)
			if err != nil {
				return fmt.Errorf("database %s: %w", d, err)
			}
			document.Distributed = &changed
		}
		return c.Print(a.Stdout, document, func(w io.Writer) {
			if from == to {
				fmt.Fprintf(w, "The schema is up to date: version %d.\n", to)
			} else {
				fmt.Fprintf(w, "Migrated the schema from version %d to version %d.\n", from, to)
			}
			switch {
			case !c.Distribute:
			case *document.Distributed:
				fmt.Fprintln(w, "Distributed the checks and the pings over the workers.")
			default:
				fmt.Fprintln(w, "The database is distributed already.")
			}
		})
	})
}
