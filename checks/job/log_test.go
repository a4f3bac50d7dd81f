package job_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/slogtest"

	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

// recorder is a receiver that keeps the signals.
type recorder struct {
	mu   sync.Mutex
	sent []pings.Signal
}

func (r *recorder) Ping(_ context.Context, s pings.Signal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Body = bytes.Clone(s.Body)
	r.sent = append(r.sent, s)
	return nil
}

// last returns the body of the last ping.
func (r *recorder) last() string { return string(r.sent[len(r.sent)-1].Body) }

// withoutTime removes the time of records.
var withoutTime = &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}}

// inContext passes records on with another context.
type inContext struct {
	slog.Handler
	ctx context.Context
}

func (h inContext) Handle(_ context.Context, r slog.Record) error { return h.Handler.Handle(h.ctx, r) }
func (h inContext) WithAttrs(attrs []slog.Attr) slog.Handler {
	return inContext{h.Handler.WithAttrs(attrs), h.ctx}
}
func (h inContext) WithGroup(name string) slog.Handler {
	return inContext{h.Handler.WithGroup(name), h.ctx}
}

// Both outputs of a LogHandler follow the rules for handlers.
func TestLogHandlerRules(t *testing.T) {
	var passed bytes.Buffer
	var r recorder
	j := job.New(&r, nil)
	run, err := j.Start(t.Context())
	must(t, err)
	logs := inContext{job.NewLogHandler(slog.NewJSONHandler(&passed, nil), nil), run.Context(t.Context())}
	must(t, slogtest.TestHandler(logs, func() (list []map[string]any) {
		for line := range strings.Lines(passed.String()) {
			var record map[string]any
			must(t, json.Unmarshal([]byte(line), &record))
			list = append(list, record)
		}
		return list
	}))
	must(t, slogtest.TestHandler(logs, func() (list []map[string]any) {
		must(t, run.Success(t.Context(), nil))
		lines := strings.SplitAfter(r.last(), "\n")
		for _, line := range lines[len(lines)/2 : len(lines)-1] { // those of this test
			list = append(list, parseText(t, line))
		}
		return list
	}))
}

// parseText returns the attributes of a line of a text handler.
func parseText(t *testing.T, line string) map[string]any {
	t.Helper()
	record := make(map[string]any)
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimPrefix(line, " ") {
		var key, value string
		key, line, _ = strings.Cut(line, "=")
		if quoted, err := strconv.QuotedPrefix(line); err == nil {
			line = line[len(quoted):]
			value, _ = strconv.Unquote(quoted)
		} else {
			value, line, _ = strings.Cut(line, " ")
		}
		group := record
		names := strings.Split(key, ".")
		for _, name := range names[:len(names)-1] {
			if group[name] == nil {
				group[name] = make(map[string]any)
			}
			group = group[name].(map[string]any)
		}
		group[names[len(names)-1]] = value
	}
	return record
}

// The last ping of a run carries what it logged, after the error.
func TestRunLog(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		var passed bytes.Buffer
		logger := slog.New(job.NewLogHandler(slog.NewTextHandler(&passed, withoutTime), withoutTime)).With("app", "db").WithGroup("copy")
		c := p.create(t)
		r := p.reporter(t, c.ID)
		traced := context.WithValue(t.Context(), traceKey{}, "4bf92f35")
		logger.InfoContext(traced, "before")
		_ = r.Run(t.Context(), func(ctx context.Context) error {
			logger.InfoContext(ctx, "one", "files", 3)
			logger.DebugContext(ctx, "two")
			return nil
		})
		must(t, p.pingErr())
		_ = r.Run(traced, func(ctx context.Context) error {
			logger.WarnContext(ctx, "three")
			logger.Info("of no run")
			return errors.New("the disk is full")
		})
		must(t, p.pingErr())
		func() {
			defer func() { _ = recover() }()
			_ = r.Run(t.Context(), func(ctx context.Context) error {
				logger.InfoContext(ctx, "four")
				panic("out of tape")
			})
		}()
		run, err := r.Start(t.Context())
		must(t, err)
		logger.InfoContext(run.Context(t.Context()), "five")
		must(t, run.Log(t.Context(), []byte("half way")))
		must(t, run.ExitStatus(t.Context(), 7, nil))

		_, bodies := p.log(t, c.ID)
		if start, end, _ := strings.Cut(bodies[5], "\n\ngoroutine "); start != "panic: out of tape" || !strings.HasSuffix(end, "\n\n\nlevel=INFO msg=four app=db\n") {
			t.Errorf("panic: %q", bodies[5])
		}
		bodies[5] = ""
		equal(t, "bodies", bodies, []string{
			"", "level=INFO msg=one app=db copy.files=3\n",
			"trace_id=4bf92f35\n", "trace_id=4bf92f35\nthe disk is full\n\nlevel=WARN msg=three app=db\n",
			"", "",
			"", "half way", "level=INFO msg=five app=db\n",
		})
		equal(t, "passed on", passed.String(), "level=INFO msg=before app=db\nlevel=INFO msg=one app=db copy.files=3\nlevel=WARN msg=three app=db\n"+
			"level=INFO msg=\"of no run\" app=db\nlevel=INFO msg=four app=db\nlevel=INFO msg=five app=db\n")
	})
}

// The next handler and the output of a run have levels of their own.
func TestLogLevels(t *testing.T) {
	for name, test := range map[string]struct {
		next, own      slog.Level
		passed, output string
	}{
		"less passed on": {slog.LevelError, slog.LevelInfo, "", "INFO"},
		"more passed on": {slog.LevelDebug, slog.LevelWarn, "DEBUG INFO", ""},
		"all":            {slog.LevelDebug, slog.LevelDebug, "DEBUG INFO", "DEBUG INFO"},
	} {
		t.Run(name, func(t *testing.T) {
			var passed bytes.Buffer
			var r recorder
			logger := slog.New(job.NewLogHandler(slog.NewTextHandler(&passed, &slog.HandlerOptions{Level: test.next}), &slog.HandlerOptions{Level: test.own}))
			err := job.New(&r, nil).Run(t.Context(), func(ctx context.Context) error {
				logger.DebugContext(ctx, "a")
				logger.InfoContext(ctx, "b")
				return nil
			})
			must(t, err)
			levels := func(text string) string {
				var list []string
				for line := range strings.Lines(text) {
					list = append(list, parseText(t, line)["level"].(string))
				}
				return strings.Join(list, " ")
			}
			equal(t, "passed on", levels(passed.String()), test.passed)
			equal(t, "output", levels(r.last()), test.output)
		})
	}
}

// What overlapping runs log does not mix, whichever logger and goroutine it comes from.
func TestLogsOfOverlappingRuns(t *testing.T) {
	var r recorder
	j := job.New(&r, nil)
	logger := slog.New(job.NewLogHandler(slog.DiscardHandler, withoutTime))
	var runs, started sync.WaitGroup
	started.Add(20)
	for n := range 20 {
		runs.Go(func() {
			own := logger.With("run", n)
			err := j.Run(t.Context(), func(ctx context.Context) error {
				started.Done()
				started.Wait()
				var wg sync.WaitGroup
				for range 5 {
					wg.Go(func() {
						for range 10 {
							own.InfoContext(ctx, "m")
						}
					})
				}
				wg.Wait()
				return fmt.Errorf("run %d", n)
			})
			if err == nil {
				t.Error("no error")
			}
		})
	}
	runs.Wait()
	for _, s := range r.sent[20:] {
		var n int
		if _, err := fmt.Sscanf(string(s.Body), "run %d", &n); err != nil {
			t.Fatalf("%q", s.Body)
		}
		equal(t, "body", string(s.Body), fmt.Sprintf("run %d\n\n", n)+strings.Repeat(fmt.Sprintf("level=INFO msg=m run=%d\n", n), 50))
	}
}

// valuer logs while a record is formatted.
type valuer struct {
	logger *slog.Logger
	ctx    context.Context
}

func (v valuer) LogValue() slog.Value {
	v.logger.InfoContext(v.ctx, "inner")
	return slog.StringValue("v")
}

func TestLogValuerLogs(t *testing.T) {
	var r recorder
	logger := slog.New(job.NewLogHandler(slog.DiscardHandler, withoutTime))
	err := job.New(&r, nil).Run(t.Context(), func(ctx context.Context) error {
		logger.InfoContext(ctx, "outer", "v", valuer{logger, ctx})
		return nil
	})
	must(t, err)
	equal(t, "body", r.last(), "level=INFO msg=inner\nlevel=INFO msg=outer v=v\n")
}

// The beginning and the end of the output, after the error, are together exactly as long as the receiver allows. The gap
// is after the first half, as in every body.
func TestOutputIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		limit int
		err   error
		text  string
		want  string
		cut   int64
	}{
		"fits":                  {100, nil, "0123456789", "0123456789", 0},
		"exactly":               {10, nil, "0123456789", "0123456789", 0},
		"a byte too many":       {9, nil, "0123456789", "012356789", 1},
		"behind an error":       {10, errors.New("e"), "0123456789", "e\n\n0156789", 3},
		"an error that is long": {6, errors.New("an error"), "0123", "an 123", 8},
		"without output":        {6, errors.New("an error"), "", "an ror", 2},
		"one byte":              {1, nil, "0123", "3", 3},
		"nothing":               {0, nil, "0123", "", 4},
		"negative":              {-5, nil, "0123", "", 4},
		"a cut character":       {4, nil, "€€", "\xe2\x82\x82\xac", 2},
	} {
		t.Run(name, func(t *testing.T) {
			var r recorder
			err := job.New(&r, &job.Config{BodyLimit: func() int { return test.limit }}).Run(t.Context(), func(ctx context.Context) error {
				fmt.Fprint(job.Output(ctx), test.text)
				return test.err
			})
			if err != test.err {
				t.Error(err)
			}
			equal(t, "body", r.last(), test.want)
			equal(t, "bytes left out", r.sent[len(r.sent)-1].BodyCut, test.cut)
		})
	}
}

// A run keeps 100,000 bytes of its output. The error and the trace before it do not move the gap from the middle of the body.
func TestMuchOutput(t *testing.T) {
	trace := func(context.Context) string { return "4bf92f35" }
	for name, test := range map[string]struct {
		limit int
		err   error
		trace func(context.Context) string
		start string
	}{
		"without an error": {1 << 20, nil, nil, ""}, "with an error": {1 << 20, errors.New("broken"), nil, "broken\n\n"},
		"the usual limit": {100_000, errors.New("broken"), trace, "trace_id=4bf92f35\nbroken\n\n"}, "a trace": {1 << 20, nil, trace, "trace_id=4bf92f35\n"},
		"less": {1000, errors.New("broken"), trace, "trace_id=4bf92f35\nbroken\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var r recorder
			var output bytes.Buffer
			_ = job.New(&r, &job.Config{BodyLimit: func() int { return test.limit }, TraceID: test.trace}).Run(t.Context(), func(ctx context.Context) error {
				for i := range 100_001 {
					fmt.Fprintf(io.MultiWriter(job.Output(ctx), &output), "%06d\n", i)
				}
				return test.err
			})
			want, cut := pings.Cut(append([]byte(test.start), output.Bytes()...), min(test.limit, 100_000))
			if last := r.sent[len(r.sent)-1]; !bytes.Equal(last.Body, want) || last.BodyCut != cut {
				t.Errorf("%d bytes without %d from %.40q, want %d without %d", len(last.Body), last.BodyCut, last.Body, len(want), cut)
			}
		})
	}
}

func TestOutputOfCommand(t *testing.T) {
	var r recorder
	err := job.New(&r, nil).Run(t.Context(), func(ctx context.Context) error {
		c := exec.CommandContext(ctx, "sh", "-c", "echo out; echo err >&2; exit 3")
		c.Stdout, c.Stderr = job.Output(ctx), job.Output(ctx)
		return c.Run()
	})
	if err == nil {
		t.Error("no error")
	}
	equal(t, "body", r.last(), "exit status 3\n\nout\nerr\n")
	if n, err := fmt.Fprint(job.Output(t.Context()), "of no run"); n != 9 || err != nil {
		t.Error(n, err)
	}
}
