package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNoCitus means that PostgreSQL does not have the extension citus.
var ErrNoCitus = errors.New("the extension citus is not installed in PostgreSQL (.ci/citus builds it)")

// NewCitus starts a cluster of Citus, with a directory below dir for each node, and creates a database on all of them.
// It returns the coordinator, followed by the workers. The database is empty and not distributed. The error is
// [ErrNoCitus] if the extension is missing. The caller stops the nodes, even after an error, and removes the directory.
func NewCitus(ctx context.Context, dir, database string, workers int, settings ...string) (nodes []*Server, err error) {
	if err := hasCitus(ctx); err != nil {
		return nil, err
	}
	settings = append([]string{
		"shared_preload_libraries=citus", "citus.node_conninfo=sslmode=disable", "citus.enable_statistics_collection=off",
		"max_connections=500", "max_prepared_transactions=400", "max_worker_processes=64",
	}, settings...)
	for i := range 1 + workers {
		node, err := New(ctx, filepath.Join(dir, fmt.Sprintf("node%d", i)), settings...)
		if err != nil {
			return nodes, err
		}
		nodes = append(nodes, node)
		if _, err := node.Create(ctx, database); err != nil {
			return nodes, err
		}
		if err := node.exec(ctx, database, "CREATE EXTENSION citus"); err != nil {
			return nodes, err
		}
	}
	coordinator := nodes[0]
	statement := fmt.Sprintf("SELECT citus_set_coordinator_host('127.0.0.1', %d)", coordinator.port)
	for _, worker := range nodes[1:] {
		statement += fmt.Sprintf("; SELECT citus_add_node('127.0.0.1', %d)", worker.port)
	}
	return nodes, coordinator.exec(ctx, database, statement)
}

// hasCitus returns nil if PostgreSQL has the extension.
func hasCitus(ctx context.Context) error {
	postgres, err := find("postgres")
	if err != nil {
		return err
	}
	share, err := exec.CommandContext(ctx, filepath.Join(filepath.Dir(postgres), "pg_config"), "--sharedir").Output()
	if err != nil {
		return fmt.Errorf("pg_config: %w", err)
	}
	if _, err := os.Stat(filepath.Join(strings.TrimSpace(string(share)), "extension", "citus.control")); err != nil {
		return ErrNoCitus
	}
	return nil
}
