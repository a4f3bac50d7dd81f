package sqlstore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

func TestServerVersion(t *testing.T) {
	for number, want := range map[int]string{
		140023: "the PostgreSQL server is too old: 14.23, the minimum is 15",
		90624:  "the PostgreSQL server is too old: 9.6, the minimum is 15",
		150000: "<nil>",
		180001: "<nil>",
	} {
		err := sqlstore.CheckVersion(number)
		if got := fmt.Sprint(err); got != want || (err != nil) != errors.Is(err, sqlstore.ErrOldServer) {
			t.Errorf("version %d: error %q, want %q", number, got, want)
		}
	}
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		store, err := sqlstore.New(db.Bun(t))
		must(t, err)
		if err := store.Database().CheckServer(t.Context()); err != nil {
			t.Errorf("the server that the tests run on: %v", err)
		}
	})
}
