// Package database opens the database of servers that are measured or tortured, to look at its tables.
package database

import (
	"context"
	"errors"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// Open opens the database that a value of --database names, with a store on it, and creates the tables if they are missing.
func Open(ctx context.Context, url string) (db *bun.DB, store *sqlstore.Store, err error) {
	if db, err = connect(ctx, url); err != nil {
		return nil, nil, err
	}
	if store, err = sqlstore.New(db); err == nil {
		err = store.Migrate(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, store, nil
}

func connect(ctx context.Context, url string) (*bun.DB, error) {
	if path, found := strings.CutPrefix(url, "sqlite:"); found {
		db, err := sqlite.OpenDB(ctx, path)
		if err != nil {
			return nil, err
		}
		return bun.NewDB(db, sqlitedialect.New()), nil
	}
	db, err := postgres.OpenDB(url)
	if err != nil {
		return nil, err
	}
	return bun.NewDB(db, pgdialect.New()), nil
}
