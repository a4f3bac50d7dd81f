package postgres

import (
	"context"
	"database/sql/driver"
	"net"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

// connector makes the connections of a pool. Its driver can listen to notifications.
type connector struct {
	driver.Connector
	config *pgx.ConnConfig
}

func (c connector) Driver() driver.Driver { return listeningDriver{c.Connector.Driver(), c.config} }

// listeningDriver is pgx's driver, which also listens to notifications on a connection outside of the pool.
type listeningDriver struct {
	driver.Driver
	config *pgx.ConnConfig
}

var _ sqlstore.Listener = listeningDriver{}

// keepAlive finds out within a minute that a silent connection is dead, without a query.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 3}

// closeTimeout bounds how long a connection says goodbye.
const closeTimeout = time.Second

// Listen listens to a channel; see [sqlstore.Listener].
func (d listeningDriver) Listen(ctx context.Context, channel string, ready func(), heard func(payload string)) error {
	config := d.config.Copy()
	config.DialFunc = (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = conn.Close(ctx)
	}()
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
