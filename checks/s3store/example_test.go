package s3store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/s3store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/pings"
)

// A monitor with object storage accepts and returns large bodies, even while the storage cannot be reached.
func Example() {
	bodies, err := s3store.New(s3store.Config{
		Endpoint:  "https://s3.example.org",
		Bucket:    "rollcall",
		AccessKey: "the access key",
		SecretKey: "the secret key",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	sqldb, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sqldb.Close()
	sqldb.SetMaxOpenConns(1) // each connection has its own memory
	store, err := sqlstore.Open(ctx, bun.NewDB(sqldb, sqlitedialect.New()))
	if err != nil {
		fmt.Println(err)
		return
	}

	mon, err := monitor.New(store, &monitor.Config{Bodies: bodies, BodyThreshold: 1000})
	if err != nil {
		fmt.Println(err)
		return
	}
	// go mon.Run(ctx) moves bodies of more than 1000 bytes to the bucket.
	project, err := mon.OpenProject(ctx, "backups")
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := project.Create(ctx, checks.Spec{Name: new("nightly")})
	if err != nil {
		fmt.Println(err)
		return
	}
	ping, err := mon.Ping(ctx, c.ID, pings.Signal{Body: make([]byte, 50_000)})
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := mon.Project(c.Check.ProjectID).PingBody(ctx, c.ID, ping.N)
	fmt.Println(len(body), err)
	// Output: 50000 <nil>
}

// The keys of a configuration are never printed.
func ExampleConfig() {
	config := s3store.Config{Endpoint: "https://s3.example.org", Bucket: "rollcall", AccessKey: "access", SecretKey: "secret"}
	fmt.Printf("%+v\n", config)

	config.Endpoint = "s3.example.org"
	_, err := s3store.New(config)
	fmt.Println(err)
	// Output:
	// s3store.Config(rollcall at https://s3.example.org)
	// s3store: the endpoint must begin with https:// or http://
}

// Probe says what is wrong before the first body is moved.
func ExampleStore_Probe() {
	bodies, err := s3store.New(s3store.Config{
		Endpoint: "http://127.0.0.1:1", Bucket: "rollcall", AccessKey: "the access key", SecretKey: "the secret key",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = bodies.Probe(context.Background())
	fmt.Println(errors.Is(err, checks.ErrBodyUnavailable))
	// Output: true
}
