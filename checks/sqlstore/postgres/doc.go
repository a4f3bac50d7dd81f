// Package postgres opens a store in a PostgreSQL database, with the driver pgx:
//
//	store, err := postgres.Open(ctx, os.Getenv("DATABASE_URL")) // postgres://user:password@host/database
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	mon, err := monitor.New(store, nil)
//
// The URL may name a primary and its standbys, and the store follows a failover; see [Open]. Several programs and
// servers may share a database. A program that has a pool already passes it to [sqlstore.Open] as a *bun.DB;
// stdlib.OpenDBFromPool of pgx makes a *sql.DB of a *pgxpool.Pool:
//
//	store, err := sqlstore.Open(ctx, bun.NewDB(stdlib.OpenDBFromPool(pool), pgdialect.New()))
//
// # PgBouncer
//
// The pools of this package work behind PgBouncer in transaction and session mode. A new connection finds out whether the
// pooler keeps prepared statements (PgBouncer from 1.21 on, with max_prepared_statements). If not, the statements of the
// pool are parsed at each use. A program's own pool of pgx needs default_query_exec_mode=cache_describe in its URL then.
package postgres
