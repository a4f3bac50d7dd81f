// Package sqlstore keeps Rollcall's data in PostgreSQL or SQLite, through bun. Its [Store] is the store of a
// [github.com/rollcall-dev/rollcall/checks/monitor.Monitor].
//
// Packages sqlite and postgres open the database, set it up and migrate it:
//
//	store, err := sqlite.Open(ctx, "jobs.db")
//	store, err := postgres.Open(ctx, "postgres://user:password@host/database")
//
// [Open] does the same on a pool that the program has already, with a driver of its choice. Bun's dialect says which
// database it is:
//
//	store, err := sqlstore.Open(ctx, bun.NewDB(db, pgdialect.New())) // db is a *sql.DB
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
// The state of a check is the JSON in the column state.
//
// # SQLite
//
// OpenDB of package sqlite returns a pool with the recommended settings. With another driver, turn on write-ahead
// logging, which lets readers and the writer work at the same time, and synchronous=FULL, without which a power failure
// can lose acknowledged pings; the monitor warns of that. Set a busy timeout if the program's own transactions or several processes use the file. A
// database in memory belongs to one connection, so limit the pool to one. SQLite must be version 3.35 or newer. The store
// writes one transaction at a time, whatever the size of the pool, over a connection of its own. While another process has the lock,
// a transaction waits for the busy timeout of the pool, or until its context ends. With a pool of one connection it waits for the
// busy timeout in any case, which should be below 2 seconds then: a monitor with a spool waits no longer for the database.
//
// While there are subscribers (Monitor.Changes), the store keeps one connection of the pool for writing. It asks that
// connection each second whether others have written to the file.
//
// # PostgreSQL
//
// The server must be PostgreSQL 15 or newer with the encoding UTF8; [Store.Migrate] checks both. Leave
// fsync and synchronous_commit on: they keep acknowledged pings, and the monitor warns without. Several programs may share the database.
// Where a loss is acceptable, as in tests, this ends the warning:
//
//	ALTER DATABASE jobs SET rollcall.accepts = 'fsync, synchronous_commit'
//
// The store announces changes by NOTIFY, on a channel of its schema. While there are subscribers (Monitor.Changes), a pool of
// package postgres opens one more connection for LISTEN. With another driver, or behind a connection pooler that shares
// sessions, such as PgBouncer in transaction mode, the store reads one row a second instead.
package sqlstore
