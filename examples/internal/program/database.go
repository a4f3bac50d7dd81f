package program

import (
	"database/sql"
	"errors"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

// OpenDatabase connects to the database that a value of --database names.
func OpenDatabase(url string) (*bun.DB, error) {
	driver, source, dialect := "pgx", url, schema.Dialect(pgdialect.New())
	if path, found := strings.CutPrefix(url, "sqlite:"); found {
		driver, source, dialect = "sqlite", sqlstore.SQLiteDSN(path, 10*time.Second), sqlitedialect.New()
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	// SQLite does not wait when several connections turn on write-ahead logging at once.
	if err := db.Ping(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return bun.NewDB(db, dialect), nil
}
