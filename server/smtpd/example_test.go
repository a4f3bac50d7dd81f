package smtpd_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/smtp"
	"os"
	"path/filepath"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/server/smtpd"
)

// A program that monitors jobs receives their pings by e-mail, without the rest of the server.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "rollcall")
	must(err)
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "jobs.db"))
	must(err)
	defer store.Close()
	mon, err := monitor.New(store, nil)
	must(err)
	project, err := mon.OpenProject(ctx, "jobs")
	must(err)
	check, err := project.Create(ctx, checks.Spec{
		Slug: new("nightly"), FilterSubject: new(true), SuccessKW: new("completed"), FailureKW: new("failed"),
	})
	must(err)

	srv, err := smtpd.New(mon, &smtpd.Config{Domain: "ping.example.org"})
	must(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0") // port 25 in production
	must(err)
	go func() { must(srv.Serve(listener)) }()

	to := check.ID.String() + "@ping.example.org" // or the ping key of the project + "+nightly@ping.example.org"
	err = smtp.SendMail(listener.Addr().String(), nil, "nas@example.org", []string{to}, []byte("Subject: Backup failed\r\n\r\nDisk full.\r\n"))
	must(err)

	pings, err := checks.Collect(project.Pings(ctx, check.ID, checks.PingQuery{}))
	must(err)
	fmt.Println(pings[0].Scheme, pings[0].Kind)
	fmt.Println(pings[0].UserAgent)
	must(srv.Shutdown(ctx))
	// Output:
	// email fail
	// Email from nas@example.org
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
