// Package sqlstore keeps Rollcall's data in PostgreSQL or SQLite, through bun. Its [Store] is the store of a
// [github.com/rollcall-dev/rollcall/checks/monitor.Monitor].
//
// The program that embeds it opens the database with a driver of its choice and picks bun's dialect:
//
//	sqldb, err := sql.Open("sqlite", sqlstore.SQLiteDSN("rollcall.db", 10*time.Second))
//	store, err := sqlstore.New(bun.NewDB(sqldb, sqlitedialect.New()))
//	err = store.Migrate(ctx)
//
// All tables have the prefix rollcall_, so they can live beside the program's own.
//
// # Changing rows by hand
//
// A store caches checks that were pinged recently. The column revision of rollcall_states tells it whether a cached
// check is current. If you change a row of rollcall_checks or rollcall_states without a Store, give the check a new
// revision in the same transaction:
//
//	UPDATE rollcall_states SET revision = 4711 WHERE check_id = 12
//
// # SQLite
//
// [SQLiteDSN] has the recommended settings. With another driver, turn on write-ahead logging, which lets readers and
// the writer work at the same time, and synchronous=FULL, without which a power failure can lose acknowledged pings.
// Set a busy timeout if several processes use one file. SQLite must be version 3.35 or newer. The store writes one
// transaction at a time, whatever the size of the connection pool.
//
// # PostgreSQL
//
// The server must be PostgreSQL [MinPostgres] or newer with the encoding UTF8; [Store.Migrate] checks the version. Leave
// fsync and synchronous_commit on: they keep acknowledged pings. Several programs may share the database.
package sqlstore
