// Command asynq schedules and runs a periodic task of asynq, and reports it to a Rollcall server, which alerts if it no
// longer runs. Its argument is the URL of Redis; ROLLCALL_URL and ROLLCALL_API_KEY name the server.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/hibiken/asynq"

	"github.com/rollcall-dev/rollcall/checks/job/asynqcheck"
	"github.com/rollcall-dev/rollcall/client"
)

func work(context.Context, *asynq.Task) error {
	_, err := fmt.Println("the copy runs")
	return err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	redis, err := asynq.ParseRedisURI(os.Args[1])
	check(err)
	rollcall, err := client.New(os.Getenv("ROLLCALL_URL"), os.Getenv("ROLLCALL_API_KEY"), nil)
	check(err)

	tasks := []*asynq.PeriodicTaskConfig{{Cronspec: "@every 1s", Task: asynq.NewTask("copy", nil)}}
	reports := asynqcheck.New(rollcall, "asynq", nil)
	check(reports.Sync(ctx, tasks)) // a check for each task, with its schedule
	mux := asynq.NewServeMux()
	mux.Use(reports.Middleware)
	mux.HandleFunc("copy", work)
	worker := asynq.NewServer(redis, asynq.Config{Concurrency: 4})
	check(worker.Start(mux))

	scheduler := asynq.NewScheduler(redis, nil) // may be another process
	check(asynqcheck.Register(scheduler, tasks))
	check(scheduler.Start())

	<-ctx.Done()
	scheduler.Shutdown()
	worker.Shutdown()                                 // the current runs end
	check(rollcall.Close(context.WithoutCancel(ctx))) // and their pings are sent
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
