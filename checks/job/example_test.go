package job_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/pings"
)

// printer prints signals instead of sending them.
type printer struct{}

func (printer) Ping(_ context.Context, s pings.Signal) error {
	fmt.Println(strings.TrimSpace(fmt.Sprintf("%s: %s", s.Kind, s.Body)))
	return nil
}

func ExampleJob_Run() {
	j := job.New(printer{}, nil) // instead of a *client.Pinger or Monitor.Job
	err := j.Run(context.Background(), func(ctx context.Context) error {
		return errors.New("the disk is full")
	})
	fmt.Println(err)
	// Output:
	// start:
	// fail: the disk is full
	// the disk is full
}

// The last ping carries what the job has logged.
func ExampleNewLogHandler() {
	next := slog.DiscardHandler                              // instead of the handler of the program
	logger := slog.New(job.NewLogHandler(next, withoutTime)) // nil is fine too
	_ = job.New(printer{}, nil).Run(context.Background(), func(ctx context.Context) error {
		logger.InfoContext(ctx, "copied", "files", 42)
		logger.WarnContext(ctx, "skipped", "file", "a b.txt")
		return nil
	})
	// Output:
	// start:
	// success: level=INFO msg=copied files=42
	// level=WARN msg=skipped file="a b.txt"
}

func ExampleOutput() {
	_ = job.New(printer{}, nil).Run(context.Background(), func(ctx context.Context) error {
		c := exec.CommandContext(ctx, "echo", "copied 42 files")
		c.Stdout, c.Stderr = job.Output(ctx), job.Output(ctx)
		return c.Run()
	})
	// Output:
	// start:
	// success: copied 42 files
}

func ExampleConfig_traceID() {
	type key struct{}
	trace := func(ctx context.Context) string {
		id, _ := ctx.Value(key{}).(string)
		return id
	}
	ctx := context.WithValue(context.Background(), key{}, "4bf92f3577b34da6a3ce929d0e0e4736")
	_ = job.New(printer{}, &job.Config{TraceID: trace}).Success(ctx, []byte("42 files"))
	// Output:
	// success: trace_id=4bf92f3577b34da6a3ce929d0e0e4736
	// 42 files
}

// Keep a check for each job of a scheduler.
func ExampleSync() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory)
	if err != nil {
		panic(err)
	}
	defer store.Close()
	mon, err := monitor.New(store, nil)
	if err != nil {
		panic(err)
	}
	project, err := mon.OpenProject(ctx, "jobs")
	if err != nil {
		panic(err)
	}
	sync := func(names ...string) {
		var entries []job.Entry
		for _, name := range names {
			entries = append(entries, job.Entry{
				Name: name,
				Spec: func() (checks.Spec, error) { return checks.Spec{Timeout: new(time.Hour)}, nil },
				Use:  func(r job.Reporter) { _ = r.Success(ctx, nil) },
			})
		}
		if err := job.Sync(ctx, project, "billing", entries, &job.SyncConfig{PauseGone: true}); err != nil {
			panic(err)
		}
	}
	sync("Copy files", "Send mail")
	sync("Send mail") // the program starts again without the first job

	list, err := checks.Stored(project.Checks(ctx, checks.Query{}))
	if err != nil {
		panic(err)
	}
	for _, check := range list {
		fmt.Println(check.Slug, check.Status(mon.Now()))
	}
	// Output:
	// copy-files paused
	// send-mail up
}
