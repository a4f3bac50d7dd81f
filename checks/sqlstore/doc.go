// Package sqlstore keeps Rollcall's data in PostgreSQL or SQLite, through bun. Its [Store] is the store of package
// monitor.
//
// The program that embeds it opens the database with the driver of its choice and picks bun's dialect:
//
//	sqldb, err := sql.Open("sqlite", sqlstore.SQLiteDSN("rollcall.db", 10*time.Second))
//	store, err := sqlstore.New(bun.NewDB(sqldb, sqlitedialect.New()))
//	err = store.Migrate(ctx)
//
// All tables have the prefix rollcall_, so that they can live beside the program's own.
//
// # Changing rows by hand
//
// Stores remember checks that were pinged or listed lately, and tell by the column revision of rollcall_states whether
// one is still as they remember it. Whoever changes a row of rollcall_checks, rollcall_states or rollcall_check_channels
// without a Store gives the check another revision in the same transaction, any number that it has not had:
//
//	UPDATE rollcall_states SET revision = 4711 WHERE check_id = 12
//
// # SQLite
//
// [SQLiteDSN] has the settings that the store is made for. With another driver, turn on write-ahead logging, which lets
// readers and the writer work at the same time, and synchronous=FULL, which makes a commit durable against a loss of
// power; with less, pings that were acknowledged can be lost. A busy timeout is needed where several processes use one
// file. Version 3.35 or newer is required. The store writes one transaction at a
// time, whatever the size of the connection pool.
//
// # PostgreSQL
//
// Version 13 or newer is required, and encoding UTF8. fsync and synchronous_commit stay on for the same reason.
// Several programs may share the database.
package sqlstore
