package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"golang.org/x/sync/errgroup"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/examples/internal/program"
	"github.com/rollcall-dev/rollcall/examples/tools/internal/database"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// requestSamples is how many figures the median of a request comes from.
	requestSamples = 3
	// memoryInterval is how often the memory of PostgreSQL is read. The kernel keeps the peak of the server.
	memoryInterval = 20 * time.Millisecond
	// settled is how many garbage collections make a heap steady.
	settled = 3
)

// measureSizes measures what single requests cost that concern all checks of a project, or all with a tag, for each
// database and each number of checks.
func (o *options) measureSizes(ctx context.Context, dir string, out io.Writer) error {
	for i, database := range o.Database {
		fmt.Fprintf(out, "%s, %d CPUs, %s. CPU seconds of one request, peak of the memory above that of small requests, and their ratios to the size before\n",
			database, runtime.NumCPU(), runtime.Version())
		fmt.Fprintf(out, "%-14s %8s %9s", "request", "checks", "kB")
		for _, process := range processes(database != "sqlite") {
			fmt.Fprintf(out, " %10s s %6s %8s %6s", process, "ratio", "MB", "ratio")
		}
		fmt.Fprintln(out)
		before := make(map[string]cost)
		for _, n := range o.Checks {
			one := *o
			one.Checks = []int{n}
			sub := filepath.Join(dir, fmt.Sprintf("database%d-%d", i, n))
			if err := one.measureSize(ctx, sub, database, out, before); err != nil {
				return fmt.Errorf("%s, %d checks: %w", database, n, err)
			}
			if err := os.RemoveAll(sub); err != nil {
				return err
			}
		}
	}
	return nil
}

// processes names the processes whose costs a table has.
func processes(database bool) []string {
	if database {
		return []string{"server", "PostgreSQL"}
	}
	return []string{"server"}
}

// measureSize measures one number of checks. It compares each cost with the one before, and replaces it.
func (o *options) measureSize(ctx context.Context, dir, database string, out io.Writer, before map[string]cost) error {
	t := new(target)
	defer t.stop()
	if err := o.startProduct(ctx, dir, database, t); err != nil {
		return err
	}
	if err := t.data.db.Close(); err != nil {
		return err
	}
	requests, err := t.requests(ctx)
	if err != nil {
		return err
	}
	for _, r := range requests {
		now, err := o.measureRequest(ctx, t, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(out, "%-14s %8d failed: %v\n", r.what, o.Checks[0], err)
			continue
		}
		now.print(out, r.what, o.Checks[0], before[r.what], t.nodes != nil)
		before[r.what] = now
	}
	return nil
}

// request is a request that a table of sizes has a line for.
type request struct {
	what, path string
	client     *http.Client
	header     http.Header
}

// requests returns the requests to measure.
func (t *target) requests(ctx context.Context) ([]request, error) {
	server := t.servers[0].Greeting().URL
	api, err := client.New(server, t.data.key, nil)
	if err != nil {
		return nil, err
	}
	badges, err := api.Badges(ctx)
	if err != nil {
		return nil, err
	}
	badge, err := url.Parse(badges[someTag].SVG)
	if err != nil {
		return nil, err
	}
	browser, list, err := signIn(ctx, server, t.data.key)
	if err != nil {
		return nil, err
	}
	list = list[len(server):]
	key := http.Header{"X-Api-Key": {t.data.key}}
	return []request{
		{"list", "/api/v3/checks/", http.DefaultClient, key},
		{"list of a tag", "/api/v3/checks/?tag=" + someTag, http.DefaultClient, key},
		{"overview", list + "overview", browser, asBrowser},
		{"list page", list, browser, asBrowser},
		{"metrics", "/api/v3/metrics/", http.DefaultClient, key},
		{"badge of a tag", badge.EscapedPath(), http.DefaultClient, nil},
	}, nil
}

// cost is what a request costs.
type cost struct {
	bytes            int // of the answer
	server, database spending
}

// spending is the CPU time of a request, and how far the memory rose.
type spending struct {
	cpu    time.Duration
	memory int64
}

// measureRequest measures a request at a server that has just started, so that no other has filled its caches. A request
// that is too short for the clock of CPU time is repeated.
func (o *options) measureRequest(ctx context.Context, t *target, r request) (c cost, err error) {
	server := t.servers[0]
	server.Kill()
	if err := server.Start(ctx); err != nil {
		return c, err
	}
	if err := o.settle(ctx, server); err != nil {
		return c, err
	}
	program.ResetPeak(server.PID())
	idle, _ := program.Memory(server.PID())
	databasePeak := t.watchDatabase()
	var samples, ofDatabase []time.Duration
	repeat := 1
	for range requestSamples {
		spent, err := t.spent(ctx, func() error {
			began := time.Now()
			for n := 0; n < repeat; n++ {
				if c.bytes, err = answerSize(ctx, r.client, server.Greeting().URL+r.path, r.header); err != nil {
					return err
				}
				if len(samples) == 0 && time.Since(began) < o.Duration/requestSamples {
					repeat++
				}
			}
			return nil
		})
		if err != nil {
			_ = databasePeak()
			return c, err
		}
		samples = append(samples, (spent.CPU-spent.database)/time.Duration(repeat))
		ofDatabase = append(ofDatabase, spent.database/time.Duration(repeat))
	}
	_, peak := program.Memory(server.PID())
	slices.Sort(samples)
	slices.Sort(ofDatabase)
	c.server = spending{samples[requestSamples/2], int64(peak) - int64(idle)}
	c.database = spending{ofDatabase[requestSamples/2], databasePeak()}
	return c, nil
}

// answerSize reads an answer and returns its length.
func answerSize(ctx context.Context, client *http.Client, address string, header http.Header) (int, error) {
	answer, err := get(ctx, client, address, header)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	return int(n), err
}

// settle scrapes the metrics of a server that has just started until its heap has the size that the garbage collector lets
// it have without any large request, at most for the duration of a round.
func (o *options) settle(ctx context.Context, server *program.Server) error {
	first := math.Inf(1)
	for end := time.Now().Add(o.Duration); time.Now().Before(end); {
		metrics, err := server.Metrics(ctx)
		if err != nil {
			return err
		}
		collected := metrics["go_gc_duration_seconds_count"]
		if first = min(first, collected); collected >= first+settled {
			return nil
		}
	}
	return nil
}

// watchDatabase watches the memory of the processes of PostgreSQL without its shared buffers. The function that it returns
// ends that and returns how far it rose.
func (t *target) watchDatabase() (peak func() int64) {
	used := func() (sum int64) {
		for _, node := range t.nodes {
			for _, pid := range program.WithChildren(node.PID()) {
				sum += int64(program.OwnMemory(pid))
			}
		}
		return sum
	}
	idle := used()
	most, end, ended := idle, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(memoryInterval)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				most = max(most, used())
			}
		}
	}()
	return func() int64 {
		close(end)
		<-ended
		return most - idle
	}
}

// print prints a line of the table.
func (c cost) print(out io.Writer, what string, n int, before cost, database bool) {
	fmt.Fprintf(out, "%-14s %8d %9.1f", what, n, float64(c.bytes)/1e3)
	c.server.print(out, before.server)
	if database {
		c.database.print(out, before.database)
	}
	fmt.Fprintln(out)
}

func (s spending) print(out io.Writer, before spending) {
	fmt.Fprintf(out, " %12.4f %6s %8.1f %6s", s.cpu.Seconds(), ratio(float64(s.cpu), float64(before.cpu)),
		float64(s.memory)/1e6, ratio(float64(s.memory), float64(before.memory)))
}

// ratio returns the text of a ratio, or "-" if there is none.
func ratio(now, before float64) string {
	if before <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", now/before)
}

const (
	// storedPings is how many pings each check has, so that its state has all that it remembers.
	storedPings = 50
	// storedBody is the length of a body, unless --body says another.
	storedBody = 1000
)

// measureStored measures what checks and pings take in each database, with their indexes, as it is after the pings.
func (o *options) measureStored(ctx context.Context, dir string, out io.Writer) error {
	for i, database := range o.Database {
		for _, n := range o.Checks {
			sub := filepath.Join(dir, fmt.Sprintf("stored%d-%d", i, n))
			if err := os.Mkdir(sub, 0o755); err != nil {
				return err
			}
			if err := o.measureBytes(ctx, sub, database, n, out); err != nil {
				return fmt.Errorf("%s, %d checks: %w", database, n, err)
			}
		}
	}
	return nil
}

func (o *options) measureBytes(ctx context.Context, dir, kind string, n int, out io.Writer) error {
	t := new(target)
	defer t.stop()
	url, err := createDatabase(ctx, dir, kind, t)
	if err != nil {
		return err
	}
	db, store, err := database.Open(ctx, url)
	if err != nil {
		return err
	}
	defer db.Close()
	t.data = &fixture{db: db, store: store}
	mon, err := monitor.New(store, &monitor.Config{DeliveredElsewhere: true, Channels: []channels.Type{{Kind: channels.Email, Settings: []channels.Setting{{Name: "to"}}}}})
	if err != nil {
		return err
	}
	project, err := mon.OpenProject(ctx, "load")
	if err != nil {
		return err
	}
	if _, err := project.CreateChannel(ctx, channels.Channel{Kind: channels.Email, Settings: map[string]string{"to": "jobs@example.org"}}); err != nil {
		return err
	}
	ids := make([]uuid.UUID, n)
	for i := range ids {
		c, err := project.Create(ctx, checks.Spec{Name: new(fmt.Sprint("nightly backup of host ", i)), Slug: new(fmt.Sprint("backup-", i)),
			Tags: []string{"prod", fmt.Sprint("team-", i%50)}, Schedule: new(fmt.Sprintf("%d %d * * *", i%60, i%24)), TZ: new("Europe/Riga"), Channels: new("*")})
		if err != nil {
			return err
		}
		ids[i] = c.ID
	}
	// A ping by curl, of a run that reported its start.
	signal := pings.Signal{Scheme: "http", Method: "POST", RemoteAddr: "192.0.2.17", UserAgent: "curl/7.88.1"}
	body := signal
	body.Body = []byte(strings.Repeat("copied /srv/data/2026/11/report.csv, 1234567 bytes\n", 1+cmp.Or(o.Body, storedBody)/50))[:cmp.Or(o.Body, storedBody)]
	plain, err := t.data.addPings(ctx, mon, ids, signal)
	if err != nil {
		return err
	}
	check, err := t.data.stored(ctx, "rollcall_checks", "rollcall_states", "rollcall_check_tags", "rollcall_check_channels")
	if err != nil {
		return err
	}
	full, err := t.data.addPings(ctx, mon, ids, body)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: each of %d checks takes %d bytes, a ping %d, and one with a body of %d bytes %d\n",
		t.name, n, check/n, plain/n/storedPings, len(body.Body), full/n/storedPings)
	return nil
}

// addPings pings each check, and returns by how many bytes the log has grown.
func (f *fixture) addPings(ctx context.Context, mon *monitor.Monitor, ids []uuid.UUID, signal pings.Signal) (int, error) {
	before, err := f.stored(ctx, "rollcall_pings")
	if err != nil {
		return 0, err
	}
	for range storedPings {
		var group errgroup.Group // together, they share transactions
		group.SetLimit(256)
		for _, id := range ids {
			group.Go(func() error {
				_, err := mon.Ping(ctx, id, signal)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return 0, err
		}
	}
	after, err := f.stored(ctx, "rollcall_pings")
	return after - before, err
}

// stored returns the bytes of tables with their indexes, and on PostgreSQL with what is stored apart.
func (f *fixture) stored(ctx context.Context, tables ...string) (bytes int, err error) {
	query := "SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name IN (?))"
	if f.postgres() {
		query = "SELECT sum(pg_total_relation_size(to_regclass(name))) FROM unnest(ARRAY[?]) AS name"
	}
	err = f.db.NewRaw(query, bun.List(tables)).Scan(ctx, &bytes)
	return bytes, err
}
