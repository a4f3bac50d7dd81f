// Package job reports the runs of jobs. The same code reports to a server and to a monitor in the same process:
//
//	pinger, err := client.NewPinger(os.Getenv("PING_URL"), nil) // a *client.Pinger
//	local := mon.Job(check.ID)                                  // a *job.Job, on a *monitor.Monitor
//
// Both are a [Reporter]:
//
//	func nightly(ctx context.Context, r job.Reporter) {
//		jobErr, pingErr := r.Run(ctx, backup) // start, then success, or failure with the error as text
//		…
//	}
//
// [New] makes a Reporter of anything that can send a [pings.Signal], such as a fake in a test.
//
// # Schedulers
//
// A scheduler knows its jobs and their schedules. A [Registry] keeps a check for each of them. A *client.Client is a
// Registry, and so is the result of monitor.Monitor.Registry. To connect a scheduler, describe each of its jobs by a
// [checks.Spec] and register it at the start; [Slug] makes a slug of any name. Then tell the Registry which jobs there
// are, so that it pauses the checks of those that were removed:
//
//	const tag = "cron" // marks the checks of this scheduler
//	var slugs []string
//	for _, entry := range entries {
//		slug := job.Slug(entry.Name)
//		reporter, err := registry.Register(ctx, checks.Spec{
//			Slug: &slug, Name: &entry.Name, Tags: []string{tag},
//			Schedule: &entry.Schedule, TZ: new(entry.Location.String()),
//		})
//		if err != nil {
//			log.Print(err) // the reporter works anyway: it reports nothing
//		}
//		slugs = append(slugs, slug)
//		entry.Wrap(func(ctx context.Context) error {
//			jobErr, _ := reporter.Run(ctx, entry.Job) // log the other error
//			return jobErr
//		})
//	}
//	err := registry.PauseExcept(ctx, tag, slugs)
//
// # Output and logs
//
// The last ping of a run carries the end of what the job wrote to [Output] with the context of the run, after the error.
// A [LogHandler] writes there what the job logs with that context, and passes every record on:
//
//	slog.SetDefault(slog.New(job.NewLogHandler(slog.NewJSONHandler(os.Stderr, nil), nil)))
//
//	jobErr, pingErr := r.Run(ctx, func(ctx context.Context) error {
//		slog.InfoContext(ctx, "copied", "files", 42) // to standard error and into the ping
//		c := exec.CommandContext(ctx, "backup.sh")
//		c.Stdout, c.Stderr = job.Output(ctx), job.Output(ctx)
//		return c.Run()
//	})
//
// # Traces
//
// With [Config].TraceID, client.Config.TraceID or monitor.Config.TraceID, the first line of every body is the trace of
// the ping's context, such as "trace_id=4bf92f3577b34da6a3ce929d0e0e4736". For OpenTelemetry:
//
//	TraceID: func(ctx context.Context) string {
//		if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
//			return span.TraceID().String()
//		}
//		return ""
//	},
package job
