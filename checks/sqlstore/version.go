package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// minPostgres is the oldest major version of PostgreSQL that the store supports, and its tests run on.
const minPostgres = 15

// ErrOldServer means that the PostgreSQL server is older than 15.
var ErrOldServer = errors.New("the PostgreSQL server is too old")

// ErrEncoding means that the PostgreSQL database has another encoding than UTF8.
var ErrEncoding = errors.New("the database does not have the encoding UTF8")

// checkDialect refuses a pool that connects to the other database. There the statements of a migration would fail with
// errors that nobody understands.
func (s *database) checkDialect(ctx context.Context) error {
	name, query := "SQLite", "SELECT sqlite_version()"
	if s.d.postgres {
		name, query = "PostgreSQL", "SELECT current_setting('server_version_num')"
	}
	var version string
	err := translate(s.db.DB.QueryRowContext(ctx, query).Scan(&version))
	if state, _ := sqlState(err); state == "42883" || err != nil && strings.Contains(err.Error(), "no such function") {
		return fmt.Errorf("sqlstore: the database is not %s; pass its own dialect: %w", name, err)
	}
	return err
}

// checkServer refuses a server that is too old, and a database whose encoding lacks characters. SQLite comes with the
// program.
func (s *database) checkServer(ctx context.Context) error {
	if !s.d.postgres {
		return nil
	}
	var number int
	var encoding string
	query := "SELECT current_setting('server_version_num')::int, current_setting('server_encoding')"
	if err := s.db.DB.QueryRowContext(ctx, query).Scan(&number, &encoding); err != nil {
		return translate(err)
	}
	if err := checkVersion(number); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("%w but %s; create one with createdb -E UTF8 -T template0", ErrEncoding, encoding)
	}
	return nil
}

// checkVersion checks a server_version_num, such as 150018 for 15.18.
func checkVersion(number int) error {
	major, minor := number/10_000, number%10_000
	if major >= minPostgres {
		return nil
	}
	if major < 10 { // 90624 is 9.6.24
		minor /= 100
	}
	return fmt.Errorf("%w: %d.%d, the minimum is %d", ErrOldServer, major, minor, minPostgres)
}
