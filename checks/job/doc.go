// Package job reports the runs of jobs. The same code reports to a server and to a monitor in the same process:
//
//	pinger, err := client.NewPinger(os.Getenv("PING_URL"), nil) // a *client.Pinger
//	local := mon.Job(check.ID)                                  // a *job.Job, on a *monitor.Monitor
//
// Both are a [Reporter]:
//
//	func nightly(ctx context.Context, r job.Reporter) {
//		err := r.Run(ctx, backup) // start, then success, or failure with the error as text
//		…
//	}
//
// [New] makes a Reporter of anything that can send a [pings.Signal], such as a fake in a test.
//
// # Schedulers
//
// Packages croncheck, gocroncheck, rivercheck and asynqcheck below this one report the jobs of robfig/cron, gocron, River
// and asynq. Each is a separate module, with the version of this one:
//
//	go get github.com/rollcall-dev/rollcall/checks/job/croncheck
//
// Their Config.Spec sets what a schedule does not say, such as the grace or the tags of a job. [Defaults] has the
// rest of a new check. A [Registry] keeps a check for each job: a *client.Client is one, and so is a
// *monitor.Project. For another scheduler, describe its jobs to [Sync] at every start, and run each by its
// [Reporter]:
//
//	var entries []job.Entry
//	for _, j := range jobs {
//		entries = append(entries, job.Entry{
//			Name: j.Name,
//			Spec: func() (checks.Spec, error) { return checks.Spec{Schedule: &j.Schedule, TZ: &j.Zone}, nil },
//			Use:  func(r job.Reporter) { j.reporter = r },
//		})
//	}
//	err := job.Sync(ctx, registry, "billing", entries, nil) // the tag marks the checks of this program
//
// # Output and logs
//
// The last ping of a run carries what the job wrote to [Output] with the context of the run, after the error; of a long
// output, the beginning and the end. A handler of [NewLogHandler] writes there what the job logs with that context, and passes every record on:
//
//	slog.SetDefault(slog.New(job.NewLogHandler(slog.NewJSONHandler(os.Stderr, nil), nil)))
//
//	err := r.Run(ctx, func(ctx context.Context) error {
//		slog.InfoContext(ctx, "copied", "files", 42) // to standard error and into the ping
//		c := exec.CommandContext(ctx, "backup.sh")
//		c.Stdout, c.Stderr = job.Output(ctx), job.Output(ctx)
//		return c.Run()
//	})
//
// # Traces
//
// With [Config].TraceID, which client.PingerConfig.Job and monitor.Config.Job have too, the first line of every body is the trace of
// the ping's context, such as "trace_id=4bf92f3577b34da6a3ce929d0e0e4736". For OpenTelemetry:
//
//	TraceID: func(ctx context.Context) string {
//		if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
//			return span.TraceID().String()
//		}
//		return ""
//	},
package job
