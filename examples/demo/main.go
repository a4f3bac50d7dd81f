// Demo shows the dashboard of an invented company: a project of 30 checks with 90 days of history. It creates the history
// through the library in a few seconds, with a clock of its own. Then it serves the dashboard while the jobs go on.
//
//	go run -C examples ./demo
//
// It prints a link that signs in, and an account with its password. The database is a temporary SQLite file unless -database names a new one. The same -seed
// gives the same history.
//
//	go run -C examples ./demo -screenshots DIR
//
// writes images of a page of each kind into a directory instead: on a desktop and on a phone, light and dark. With -whole they
// show what is below the window too. That needs Chromium.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

type options struct {
	database, listen, screenshots string
	days                          int
	seed                          uint64
	whole                         bool
	now                           time.Time
}

// newFlags returns the flags of the program, which set o.
func newFlags(o *options) *flag.FlagSet {
	flags := flag.NewFlagSet("demo", flag.ExitOnError)
	flags.StringVar(&o.database, "database", "", "SQLite file to create (default: a temporary one)")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8000", "address to serve on")
	flags.StringVar(&o.screenshots, "screenshots", "", "directory for images of the pages; with it, demo serves nothing")
	flags.BoolVar(&o.whole, "whole", false, "with -screenshots: images of whole pages, not of what a window shows")
	flags.IntVar(&o.days, "days", 90, "days of history")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the history")
	// TextVar would print a zero time as the default.
	flags.Func("now", "time at which the history ends and the clock starts, such as 2026-11-22T14:24:00Z (default: now)",
		func(text string) error { return o.now.UnmarshalText([]byte(text)) })
	return flags
}

func main() {
	var o options
	_ = newFlags(&o).Parse(os.Args[1:]) // exits on an error
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		log.Fatal("demo: ", err)
	}
}

// run makes the history and serves it until ctx ends, or only makes images. It writes the link that signs in.
func run(ctx context.Context, o options, out io.Writer) error {
	if o.database == "" {
		dir, err := os.MkdirTemp("", "rollcall-demo-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.database = filepath.Join(dir, "demo.db")
	} else if _, err := os.Stat(o.database); err == nil {
		return fmt.Errorf("%s exists already", o.database)
	}
	if o.now.IsZero() {
		o.now = time.Now()
	}
	if o.screenshots != "" {
		o.listen = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	url := "http://" + listener.Addr().String()

	began := time.Now()
	site, err := newSite(ctx, o, url)
	if err != nil {
		return err
	}
	defer site.close()
	log.Printf("made %d days of %d checks in %v", o.days, len(company()), time.Since(began).Round(100*time.Millisecond))
	site.clock.run()

	group, groupCtx := errgroup.WithContext(ctx)
	groupCtx, cancel := context.WithCancel(groupCtx)
	defer cancel()
	web := &http.Server{Handler: site.handler}
	group.Go(func() error { return site.mon.Run(groupCtx) })
	group.Go(func() error { return site.future(groupCtx) })
	group.Go(func() error {
		if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-groupCtx.Done()
		return web.Close()
	})
	group.Go(func() error {
		if o.screenshots == "" {
			_, err := fmt.Fprintf(out, "%s\nor sign in as %s with the password %q\n", site.link, email, password)
			return err
		}
		defer cancel()
		return photograph(groupCtx, url, o)
	})
	return group.Wait()
}
