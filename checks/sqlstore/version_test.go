package sqlstore_test

import (
	"errors"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
)

func TestServerVersion(t *testing.T) {
	for number, want := range map[int]string{
		140023: "the PostgreSQL server is too old: 14.23, the minimum is 15",
		90624:  "the PostgreSQL server is too old: 9.6, the minimum is 15",
		150000: "",
		180001: "",
	} {
		err := sqlstore.CheckVersion(number)
		if got := errorText(err); got != want || (err != nil) != errors.Is(err, sqlstore.ErrOldServer) {
			t.Errorf("%d: %q, want %q", number, got, want)
		}
	}
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		store, err := sqlstore.New(db.Bun(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := store.CheckServer(t.Context()); err != nil {
			t.Errorf("the server of the tests: %v", err)
		}
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
