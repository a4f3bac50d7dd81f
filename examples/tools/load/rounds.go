package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/examples/internal/program"
	"github.com/rollcall-dev/rollcall/examples/tools/internal/loadgen"
)

const (
	// checkWarmUp prolongs the warm-up for each check beyond 1,000: the first ping of a check reads it from the database.
	checkWarmUp = 200 * time.Microsecond
	maxWarmUp   = 30 * time.Second
)

// columns name the figures of a round and give their decimals.
var columns = [...]struct {
	name     string
	decimals int
}{
	{"pings/s", 0}, {"share", 2}, {"p50 ms", 2}, {"p99 ms", 2}, {"max ms", 2},
	{"CPU µs", 1}, {"database µs", 1}, {"coordinator", 2}, {"generator µs", 1}, {"bytes", 0}, {"batch", 1},
}

// round holds what one target did in one round, in the order of columns. CPU, database, generator and bytes are per ping.
type round [len(columns)]float64

// compare measures targets in turn. The share of a round is its rate over the rate of the first target.
func (o *options) compare(ctx context.Context, out io.Writer, targets ...*target) error {
	rate, err := o.warmUp(ctx, targets)
	if err != nil {
		return err
	}
	printRow(out, "round", "server", func(i int) string { return columns[i].name })
	rounds := make([][]round, len(targets))
	for n := range o.Rounds {
		for i, t := range targets {
			r, err := o.measureRound(ctx, t, rate)
			if err != nil {
				return err
			}
			rounds[i] = append(rounds[i], r)
			rounds[i][n][1] = r[0] / max(1, rounds[0][n][0])
			rounds[i][n].print(out, fmt.Sprint(n+1), t)
		}
	}
	for i, t := range targets {
		medians(rounds[i]).print(out, "median", t)
	}
	return nil
}

// warmUp fills the caches of the targets and returns the rate to measure at, 0 for the highest. A share is one of the
// slowest target's rate.
func (o *options) warmUp(ctx context.Context, targets []*target) (rate float64, err error) {
	rate = math.Inf(1)
	for _, t := range targets {
		l := o.load(t)
		l.Duration = min(o.Duration, time.Second)
		if t.ceiling == nil {
			l.Duration += min(time.Duration(max(0, o.Checks[0]-1000))*checkWarmUp, maxWarmUp)
		}
		result, err := l.Run(ctx)
		if err != nil {
			return 0, err
		}
		rate = min(rate, result.Rate)
	}
	if o.Rate <= 1 {
		return o.Rate * rate, nil
	}
	return o.Rate, nil
}

// measureRound puts a load on a target and measures what it costs.
func (o *options) measureRound(ctx context.Context, t *target, rate float64) (r round, err error) {
	l := o.load(t)
	l.Rate = rate
	var result loadgen.Result
	var generator time.Duration
	spent, err := t.spent(ctx, func() (err error) {
		before := program.UsageOf(os.Getpid()).CPU
		result, err = l.Run(ctx)
		generator = program.UsageOf(os.Getpid()).CPU - before
		return err
	})
	if err != nil {
		return r, err
	}
	n := float64(max(1, len(result.Latencies)))
	coordinator := 0.0
	if len(t.nodes) > 1 {
		coordinator = float64(spent.coordinator) / float64(max(1, spent.database))
	}
	return round{
		result.Rate, 0, ms(result.Quantile(0.5)), ms(result.Quantile(0.99)), ms(result.Quantile(1)),
		us(spent.CPU) / n, us(spent.database) / n, coordinator, us(generator) / n, float64(spent.Written) / n,
		spent.pings / max(1, spent.batches),
	}, nil
}

func (r round) print(out io.Writer, name string, t *target) {
	printRow(out, name, t.name, func(i int) string { return fmt.Sprintf("%.*f", columns[i].decimals, r[i]) })
}

// printRow prints a line of the table, each value as wide as the name of its column, or 8 characters if that is more.
func printRow(out io.Writer, name, target string, value func(column int) string) {
	fmt.Fprintf(out, "%6s  %-11s", name, target)
	for i, c := range columns {
		fmt.Fprintf(out, " %*s", max(8, utf8.RuneCountInString(c.name)), value(i))
	}
	fmt.Fprintln(out)
}

// medians returns the median of each figure over the rounds, the mean of the middle two if their number is even.
func medians(rounds []round) (m round) {
	values, n := make([]float64, len(rounds)), len(rounds)
	for i := range m {
		for k, r := range rounds {
			values[k] = r[i]
		}
		slices.Sort(values)
		m[i] = (values[(n-1)/2] + values[n/2]) / 2
	}
	return m
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func ms(d time.Duration) float64 { return us(d) / 1000 }
