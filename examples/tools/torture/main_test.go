package main

import (
	"context"
	"strings"
	"testing"
)

func TestUnknownTrial(t *testing.T) {
	err := run(context.Background(), options{Only: []string{"sqlite", "mysql"}}, t.Output())
	if err == nil || err.Error() != `there is no trial "mysql"` {
		t.Errorf("error %v", err)
	}
}

func TestPostgresFlag(t *testing.T) {
	for _, only := range [][]string{nil, {"failover"}, {"postgres", "three-servers"}} {
		err := run(t.Context(), options{Only: only, Postgres: "postgres://nowhere/rollcall"}, t.Output())
		if err == nil || !strings.HasPrefix(err.Error(), "--postgres needs") {
			t.Errorf("only %q: %v", only, err)
		}
	}
}
