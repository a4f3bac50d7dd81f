package sqlstore

import (
	"context"
	"errors"
	"fmt"
)

// MinPostgres is the oldest major version of PostgreSQL that the store supports, and its tests run on.
const MinPostgres = 15

// ErrOldServer means that the PostgreSQL server is older than [MinPostgres].
var ErrOldServer = errors.New("the PostgreSQL server is too old")

// checkServer refuses a server that is too old. SQLite comes with the program.
func (s *Store) checkServer(ctx context.Context) error {
	if !s.d.postgres {
		return nil
	}
	var number int
	if err := s.db.DB.QueryRowContext(ctx, "SELECT current_setting('server_version_num')::int").Scan(&number); err != nil {
		return translate(err)
	}
	return checkVersion(number)
}

// checkVersion checks a server_version_num, such as 150018 for 15.18.
func checkVersion(number int) error {
	major, minor := number/10_000, number%10_000
	if major >= MinPostgres {
		return nil
	}
	if major < 10 { // 90624 is 9.6.24
		minor /= 100
	}
	return fmt.Errorf("%w: %d.%d, the minimum is %d", ErrOldServer, major, minor, MinPostgres)
}
