package postgres

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

// listeningDriver is pgx's driver, which also listens to notifications on a connection outside of the pool.
type listeningDriver struct {
	driver.Driver
	connector *connector
}

var _ sqlstore.Listener = listeningDriver{}

// closeTimeout bounds how long a connection says goodbye.
const closeTimeout = time.Second

// Listen listens to a channel; see [sqlstore.Listener].
func (d listeningDriver) Listen(ctx context.Context, channel string, ready func(), heard func(payload string)) error {
	hangUp := func(conn *pgx.Conn) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = conn.Close(ctx)
	}
	conn, err := connect(ctx, d.connector, func(ctx context.Context, h host) (*pgx.Conn, error) {
		return pgx.ConnectConfig(ctx, h.config)
	}, hangUp)
	if err != nil {
		return err
	}
	defer hangUp(conn)
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return err
	}
	ready()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		heard(n.Payload)
	}
}
