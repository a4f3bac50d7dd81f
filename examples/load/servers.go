package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// measureServers compares several servers on one database with the first of them alone, in turn and with the same number
// of connections.
func (m *measurement) measureServers(ctx context.Context, out io.Writer, url string, first *process) error {
	servers := []*process{first}
	for len(servers) < m.Servers {
		p, err := start(ctx, settings{Database: url})
		if err != nil {
			return err
		}
		defer p.stop()
		servers = append(servers, p)
	}
	warm := m.load(servers...)
	warm.duration = min(m.Duration, time.Second)
	if _, err := warm.generate(ctx); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "round\tone server/s\tp99\t%d servers/s\tp99\tratio\t\n", m.Servers)
	var ratios []float64
	for i := range m.Rounds {
		one, err := m.load(first).generate(ctx)
		if err != nil {
			return err
		}
		all, err := m.load(servers...).generate(ctx)
		if err != nil {
			return err
		}
		ratios = append(ratios, all.rate/max(1, one.rate))
		fmt.Fprintf(table, "%d\t%.0f\t%v\t%.0f\t%v\t%.2f\t\n", i+1, one.rate, ms(one.quantile(0.99)), all.rate, ms(all.quantile(0.99)), ratios[i])
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "median: %.2f times the pings of one server\n", median(ratios))
	return err
}
