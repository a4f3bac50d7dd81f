package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
)

// demo is a server with a project.
type demo struct {
	url, pingURL string
	key, pingKey string
	adminKey     string // of the installation
	close        func()
}

func startDemo() demo {
	dir, err := os.MkdirTemp("", "rollcall")
	check(err)
	store, err := sqlite.Open(context.Background(), filepath.Join(dir, "rollcall.db"))
	check(err)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	mon, err := monitor.New(store, &monitor.Config{Logger: quiet, Channels: standard.Kinds(), DeliveredElsewhere: true})
	check(err)
	adminKey, _, err := mon.Installation().CreateKey(context.Background())
	check(err)
	project, keys, err := mon.Projects().Create(context.Background(), checks.ProjectSpec{Name: "demo"})
	check(err)
	signer, err := badges.NewSigner([]byte("0123456789abcdef"))
	check(err)
	web := httptest.NewUnstartedServer(nil)
	url := "http://" + web.Listener.Addr().String()
	srv, err := server.New(mon, &server.Config{BaseURL: url, Signer: signer, Logger: quiet})
	check(err)
	web.Config.Handler = srv
	web.Start()
	return demo{url, url + "/ping", keys.ReadWrite, project.PingKey, adminKey, func() {
		web.Close()
		store.Close()
		os.RemoveAll(dir)
	}}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func Example() {
	srv := startDemo() // instead of a server of your own, with its URL and key
	defer srv.close()
	ctx := context.Background()

	c, err := client.New(srv.url, srv.key, nil)
	check(err)
	backup, created, err := c.Upsert(ctx, checks.Spec{
		Slug: new("backup"), Name: new("Nightly backup"), Tags: []string{"prod", "db"},
		Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Grace: new(30 * time.Minute),
	}, checks.UniqueSlug)
	check(err)
	fmt.Println(backup.Name, backup.TagList(), backup.Status, created)

	p, err := client.NewPinger(backup.PingURL, nil)
	check(err)
	check(p.Success(ctx, []byte("42 files")))

	list, err := c.Checks(ctx, checks.Query{Tags: []string{"prod"}})
	check(err)
	for _, job := range list {
		fmt.Println(job.Slug, job.Status, job.NPings)
	}
	// Output:
	// Nightly backup [prod db] new true
	// backup up 1
}

// A key of the installation creates projects and what they need.
func ExampleClient_Project() {
	srv := startDemo()
	defer srv.close()
	ctx := context.Background()

	c, err := client.New(srv.url, srv.adminKey, nil)
	check(err)
	project, keys, err := c.Projects().Create(ctx, checks.ProjectSpec{Name: "backups"})
	check(err)
	fmt.Println(project.Name, project.Plan, keys.ReadWrite[:4])

	jobs := c.Project(project.ID)
	ops, err := jobs.CreateChannel(ctx, channels.Channel{Kind: channels.Email, Name: "ops", Settings: map[string]string{"to": "ops@example.org"}})
	check(err)
	_, err = jobs.Create(ctx, checks.Spec{Slug: new("nightly"), Channels: new("ops")})
	check(err)
	_, err = jobs.CreateStatusPage(ctx, checks.StatusPage{Slug: "backups", Title: "Our backups"})
	check(err)
	fmt.Println(ops.Name, ops.Settings)
	// Output:
	// backups paid rcw_
	// ops map[to:ops@example.org]
}

func ExamplePinger_Run() {
	srv := startDemo()
	defer srv.close()
	ctx := context.Background()
	backup := func(context.Context) error { return errors.New("the disk is full") }

	// "?create=1" creates the check if none has this slug.
	p, err := client.NewPinger(client.SlugURL(srv.pingURL, srv.pingKey, "backup")+"?create=1", nil)
	check(err)
	defer p.Close(ctx)
	err = p.Run(ctx, backup)
	fmt.Println("the job:", err)

	c, err := client.New(srv.url, srv.key, nil)
	check(err)
	list, err := c.Checks(ctx, checks.Query{Slug: "backup"})
	check(err)
	fmt.Println("the check:", list[0].Status)
	// Output:
	// the job: the disk is full
	// the check: down
}

func ExamplePinger_Start() {
	srv := startDemo()
	defer srv.close()
	ctx := context.Background()
	c, err := client.New(srv.url, srv.key, nil)
	check(err)
	sync, err := c.Create(ctx, checks.Spec{Name: new("sync")})
	check(err)

	p, err := client.NewPinger(sync.PingURL, nil)
	check(err)
	run, _ := p.Start(ctx) // the job goes on if a ping fails
	_ = run.Log(ctx, []byte("half way"))
	_ = run.ExitStatus(ctx, 3, []byte("2 files were locked"))

	for ping, err := range c.Pings(ctx, sync.ID, checks.PingQuery{}) {
		check(err)
		fmt.Println(ping.N, ping.Kind, ping.RunID.UUID == run.ID())
	}
	body, err := c.PingBody(ctx, sync.ID, 3)
	check(err)
	fmt.Printf("%s\n", body)
	// Output:
	// 3 fail true
	// 2 log true
	// 1 start true
	// 2 files were locked
}

// Ping takes the same signal as an embedded monitor.
func ExamplePinger_Ping() {
	srv := startDemo()
	defer srv.close()
	p, err := client.NewPinger(client.SlugURL(srv.pingURL, srv.pingKey, "unknown"), nil)
	check(err)
	err = p.Ping(context.Background(), pings.Signal{Kind: pings.Log, Body: []byte("a note")})
	fmt.Println(err)
	fmt.Println(errors.Is(err, checks.ErrNotFound))
	// Output:
	// client: log ping: not found (status 404)
	// true
}

// The errors of a server are those of an embedded monitor.
func ExampleError() {
	srv := startDemo()
	defer srv.close()
	ctx := context.Background()
	c, err := client.New(srv.url, srv.key, nil)
	check(err)

	_, err = c.Create(ctx, checks.Spec{Timeout: new(30 * time.Second)})
	if refused, ok := errors.AsType[*checks.FieldError](err); ok {
		fmt.Println(refused.Field, refused.Reason)
	}
	if answer, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(answer.StatusCode)
	}
	// Output:
	// timeout is too small: 30, the minimum is 60
	// 400
}

func ExampleClient_Flips() {
	srv := startDemo()
	defer srv.close()
	ctx := context.Background()
	c, err := client.New(srv.url, srv.key, nil)
	check(err)
	job, err := c.Create(ctx, checks.Spec{Name: new("job")})
	check(err)
	p, err := client.NewPinger(job.PingURL, nil)
	check(err)
	check(p.Success(ctx, nil))
	check(p.Failure(ctx, nil))

	for flip, err := range c.Flips(ctx, job.ID, flips.Range{Last: time.Hour}) {
		check(err)
		fmt.Println(flip.Up)
	}
	// Output:
	// false
	// true
}

// An answer of another program is no answer about the check.
func ExampleErrNotRollcall() {
	proxy := httptest.NewServer(http.NotFoundHandler()) // something else than Rollcall at the base URL
	defer proxy.Close()
	c, err := client.New(proxy.URL, "rcw_0000000000000000000000000000", nil)
	check(err)
	_, err = c.Check(context.Background(), uuid.MustParse("5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f"))
	fmt.Println(err)
	fmt.Println(errors.Is(err, checks.ErrNotFound), errors.Is(err, client.ErrNotRollcall))
	// Output:
	// client: get check 5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f: 404 page not found (status 404): the answer is not Rollcall's, check the URL
	// false true
}

// An external scheduler, such as Cloud Scheduler, calls the handler once a night.
func ExampleMiddleware() {
	srv := startDemo()
	defer srv.close()
	p, err := client.NewPinger(client.SlugURL(srv.pingURL, srv.pingKey, "nightly")+"?create=1", nil)
	check(err)
	nightly := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(job.Output(r.Context()), "copied 42 files")
		w.WriteHeader(http.StatusNoContent)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /nightly", client.Middleware(p)(http.HandlerFunc(nightly)))

	web := httptest.NewServer(mux)
	defer web.Close()
	res, err := http.Post(web.URL+"/nightly", "", nil)
	check(err)
	res.Body.Close()

	c, err := client.New(srv.url, srv.key, nil)
	check(err)
	list, err := c.Checks(context.Background(), checks.Query{Slug: "nightly"})
	check(err)
	body, err := c.PingBody(context.Background(), list[0].ID, 2)
	check(err)
	fmt.Printf("%s: %s\n%s", list[0].Slug, list[0].Status, body)
	// Output:
	// nightly: up
	// copied 42 files
	// status 204 No Content
}

// While the server is away, a ping waits in a file. A later process sends it.
func ExamplePinger_Flush() {
	dir, err := os.MkdirTemp("", "queue")
	check(err)
	defer os.RemoveAll(dir)
	up := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up {
			http.Error(w, "away", http.StatusInternalServerError)
			return
		}
		fmt.Println("got", path.Base(r.URL.Path))
		fmt.Fprint(w, "OK")
	}))
	defer srv.Close()
	ctx := context.Background()
	config := client.PingerConfig{Queue: dir}
	config.Job.OnPingError = func(_ context.Context, err error) { fmt.Println("in the background:", err) }

	p, err := client.NewPinger(srv.URL+"/ping/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f", &config)
	check(err)
	fmt.Println(p.Failure(ctx, []byte("disk full")))
	check(p.Close(ctx))

	up = true
	p, err = client.NewPinger(srv.URL+"/ping/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f", &config)
	check(err)
	check(p.Flush(ctx))
	// Output:
	// client: fail ping: away (status 500); the ping waits in the queue
	// in the background: client: fail ping: away (status 500); the ping waits in the queue
	// got fail
}
