package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// shutdownWithin is how long a server that has nothing to do may take to end.
const shutdownWithin = 10 * time.Second

// trial is one thing that a server is put through, on a site of its own.
type trial struct {
	setup
	run func(ctx context.Context, s *site, o options) (report fmt.Stringer, err error)
}

// trials returns all of them.
func trials() []trial {
	return []trial{
		{setup{name: "sqlite", servers: 1}, runHistories},
		{setup{name: "shared-file", servers: 2}, runHistories},
		{setup{name: "postgres", postgres: true, servers: 1}, runHistories},
		{setup{name: "three-servers", postgres: true, servers: 3}, runHistories},
		{setup{name: "refused", postgres: true, servers: 1}, runRefused},
		{setup{name: "silent", postgres: true, proxied: true, servers: 1}, runSilent},
		{setup{name: "abuse", servers: 1}, runAbuse},
	}
}

func runRefused(ctx context.Context, s *site, o options) (fmt.Stringer, error) {
	return s.outage(ctx, s.refusedConnections(), o.outage)
}

func runSilent(ctx context.Context, s *site, o options) (fmt.Stringer, error) {
	return s.outage(ctx, s.silence(), o.outage)
}

func runAbuse(ctx context.Context, s *site, o options) (fmt.Stringer, error) {
	return s.abuse(ctx, o.idle)
}

func runHistories(ctx context.Context, s *site, o options) (fmt.Stringer, error) {
	t := new(tally)
	began := time.Now()
	err := s.histories(ctx, o.seed, o.goal, began, t)
	t.took = time.Since(began)
	return t, err
}

// perform makes the site of a trial, runs it, and prints its report. It returns what was not as it must be.
func (t trial) perform(ctx context.Context, o options, out io.Writer) (problems []string, err error) {
	s, err := newSite(ctx, t.setup, o.rollcall, o.dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	defer s.close()
	s.slack = o.slack
	report, err := t.run(ctx, s, o)
	if err != nil {
		return s.problems, fmt.Errorf("%s: %w", t.name, err)
	}
	for i, srv := range s.servers {
		if took, exit, err := srv.terminate(); err != nil || exit != 0 || took > shutdownWithin+s.slack {
			s.problem("server %d ended %v after SIGTERM, with exit status %d, %v", i+1, took, exit, err)
		}
	}
	fmt.Fprintf(out, "%s: %s\n", t.name, report)
	return s.problems, nil
}
