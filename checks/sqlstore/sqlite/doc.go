// Package sqlite opens a store in an SQLite file, with the driver modernc.org/sqlite, which needs no C compiler:
//
//	store, err := sqlite.Open(ctx, "jobs.db")
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	mon, err := monitor.New(store, nil)
//
// Keep the file on a local disk: write-ahead logging does not work over a network file system. Several processes of
// one machine may share it.
package sqlite
